//! Reading a single object.

use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::store::Compacted;

use super::Turn;

impl Turn<'_> {
    /// GET of an object or its status; both return the whole object.
    pub(super) fn get(self) -> Result<Reply, Refusal> {
        let kind = self.kind();
        let name = self.target.name.as_deref().unwrap_or_default();
        let asked = &self.params.resource_version;
        if !asked.is_empty() && asked.parse::<u64>().is_err() {
            return Err(Refusal::unexpected(format!(
                "resourceVersion: Invalid value: {asked:?}: strconv.ParseUint: parsing {asked:?}: invalid syntax"
            )));
        }
        let visible = self.state.visible(self.stale, asked.is_empty());
        let objects = self
            .state
            .store
            .objects_at(&kind.storage, visible)
            .map_err(|Compacted(oldest)| Refusal::too_old(visible, oldest))?;
        let found = objects.get(&self.target.key()).cloned();
        let found = found.ok_or_else(|| Refusal::not_found(&kind, name))?;
        self.object_reply(200, &found)
    }
}
