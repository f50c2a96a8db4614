//! Notes on nodes: marks with a fixed text.

use crate::action::{Action, MarkWrite};
use crate::model::{Mark, Node, ObjectKey};
use crate::plan::Draft;
use crate::world::World;

/// Plans a note on a node, which is a mark with a fixed text, or its removal.
pub(crate) fn write_note(
    world: &World,
    owner: &ObjectKey,
    node: &Node,
    note: &'static Mark,
    on: bool,
    draft: &mut Draft,
) {
    if world.mark_writable(&node.name, note, draft.now) {
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
    let (owner, node, uid) = (Some(owner.clone()), node.name.clone(), node.uid.clone());
    draft.act(Action::Mark(MarkWrite { owner, node, uid, mark: note, value }));
}
