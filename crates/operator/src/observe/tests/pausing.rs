//! Which values of the annotation pause an object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::PAUSED_ANNOTATION;
use crate::observe::paused;

#[test]
fn false_does_not_pause_and_every_other_text_does() {
    let paused = |text: &str| {
        let annotations = [(PAUSED_ANNOTATION.to_owned(), text.to_owned())].into();
        paused(&ObjectMeta { annotations: Some(annotations), ..ObjectMeta::default() })
    };
    assert_eq!(paused("false"), None);
    assert_eq!(paused(" False "), None);
    assert_eq!(paused("true").as_deref(), Some(""));
    assert_eq!(paused("").as_deref(), Some(""));
    assert_eq!(paused(" moving racks ").as_deref(), Some("moving racks"));
}
