//! Notes on nodes: marks with a fixed text.

use super::egress::is_made_for;
use crate::action::MarkWrite;
use crate::model::{Mark, Node, ObjectKey};
use crate::plan::Draft;
use crate::world::World;

/// Plans a note on a node, which is a mark with a fixed text, or its removal. A removal waits for the
/// other marks of the node that are being written, which give the node a new version.
pub(crate) fn write_note(
    world: &World,
    owner: &ObjectKey,
    node: &Node,
    note: &'static Mark,
    on: bool,
    draft: &mut Draft,
) {
    let waits = || world.is_being_marked(&node.name) || is_marked_next(world, node, draft);
    if (on || !waits()) && world.mark_writable(&node.name, note, draft.now) {
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

/// Whether this plan writes a mark of a node.
fn is_marked_next(world: &World, node: &Node, draft: &Draft) -> bool {
    let mut writes = draft.marks_of(&node.name);
    writes.any(|write| write.owner.as_ref().is_none_or(|owner| is_made_for(world, owner)))
}
