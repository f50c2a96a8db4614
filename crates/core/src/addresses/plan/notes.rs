//! Notes on nodes: marks with a fixed text.

use super::gate::is_made_for;
use crate::action::MarkWrite;
use crate::model::{Mark, Node, ObjectKey};
use crate::plan::Draft;
use crate::world::World;

/// Plans a note on a node, which is a mark with a fixed text, or its removal. A removal waits for the
/// writes of other marks of the node that are under way.
pub(crate) fn write_note(
    world: &World,
    owner: &ObjectKey,
    node: &Node,
    note: &'static Mark,
    on: bool,
    draft: &mut Draft,
) {
    let waits = !on && world.is_being_marked(&node.name);
    if !waits && world.mark_writable(&node.name, note, draft.now) {
        send_note(owner, node, note, on, draft);
    }
}

/// Plans a note that a call waits for, or its removal, without regard to a back-off.
pub(crate) fn send_note(
    owner: &ObjectKey,
    node: &Node,
    note: &'static Mark,
    on: bool,
    draft: &mut Draft,
) {
    let value = note.text().filter(|_| on).map(Into::into);
    draft.mark(MarkWrite {
        owner: Some(owner.clone()),
        node: node.name.clone(),
        uid: node.uid.clone(),
        version: (!on).then_some(node.version),
        mark: note,
        value,
    });
}

/// Leaves the removal of a note to a later plan while another mark of its node is written, which gives
/// the node a new version.
pub(crate) fn remove_last(world: &World, draft: &mut Draft) {
    let is_made =
        |write: &MarkWrite| write.owner.as_ref().is_none_or(|owner| is_made_for(world, owner));
    for writes in draft.marks_by_node() {
        let made = writes.values().filter(|write| is_made(write));
        let first = made.min_by_key(|write| write.version.is_some()).map(|write| write.mark);
        writes.retain(|mark, write| {
            write.version.is_none() || !is_made(write) || first == Some(*mark)
        });
    }
}
