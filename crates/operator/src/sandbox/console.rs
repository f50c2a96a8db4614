//! Carries out commands.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use fakecloud::{Answer, Fault, On, Rule, RuleId};
use kube::ResourceExt;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::brake::Brake;
use super::cluster::Cluster;
use super::command::{Command, NOWHERE};
use super::input::Input;
use super::nodes::{is_well, machine};
use super::replicas::{Frozen, Replicas};
use super::story::Story;
use super::tally::{Book, Tally};

/// Longest wait for the operator to come to rest before the summary.
const REST: Duration = Duration::from_secs(90);

/// Time without provider calls that counts as rest.
const QUIET: Duration = Duration::from_secs(1);

/// Polling interval.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Carries out commands.
pub struct Console {
    cluster: Cluster,
    replicas: Replicas,
    story: Story,
    input: Input,
    book: Book,
    failing: Option<RuleId>,
    /// Summaries and drains that wait for their end.
    pending: JoinSet<()>,
}

impl Console {
    /// A console over a cluster and its operator.
    pub fn new(
        cluster: Cluster,
        replicas: Replicas,
        story: Story,
        input: Input,
        book: Book,
    ) -> Self {
        Self { cluster, replicas, story, input, book, failing: None, pending: JoinSet::new() }
    }

    /// Carries out commands until `quit`, then stops the operator.
    ///
    /// # Errors
    /// The first command that fails, unless a person can type another command.
    pub async fn run(mut self) -> Result<(), String> {
        let ended = self.carry_out_all().await;
        ended.and(self.replicas.stop().await)
    }

    async fn carry_out_all(&mut self) -> Result<(), String> {
        loop {
            let command = self.input.next().await;
            let Some(command) = command else { return Ok(()) };
            let outcome = match command {
                Ok(Command::Quit) => return Ok(()),
                Ok(command) => self.carry_out(command).await,
                Err(problem) => Err(problem),
            };
            match outcome {
                Err(problem) if self.input.has_keys() => self.story.tell(&problem),
                other => other?,
            }
        }
    }

    /// Carries out a command. The cause is reported before its effects.
    async fn carry_out(&mut self, command: Command) -> Result<(), String> {
        match command {
            Command::Kill(node) => {
                let node = self.cluster.chosen(node).await?;
                self.story.tell_now(&format!("{node} is killed"));
                self.cluster.kill(&node).await?;
            }
            Command::Cordon(node) => {
                let node = self.cluster.chosen(node).await?;
                self.story.tell_now(&format!("{node} is cordoned"));
                self.cluster.cordon(&node).await?;
            }
            Command::Drain(node) => self.drain(node).await?,
            Command::Heal(node) => self.heal(node).await?,
            Command::Add => {
                let next = self.cluster.next().await?;
                self.story.tell_now(&format!("node-{next} joins"));
                self.cluster.add(next).await?;
            }
            Command::Fail => self.fail(),
            Command::Throttle(time) => {
                self.story.tell_now(&format!("the cloud answers 429 for {time:?}"));
                self.cluster.cloud().throttle_for(time);
            }
            Command::Move(ip, node) => self.move_by_hand(ip, node).await?,
            Command::Crash => self.crash().await?,
            Command::Freeze => self.freeze().await?,
            Command::Create(name) => self.create(name).await?,
            Command::Delete(name, foreground) => self.delete(name, foreground).await?,
            Command::Fill(pool) => self.cluster.fill_pools(pool, &self.story).await?,
            Command::Status => self.story.tell(&self.cluster.status().await?),
            Command::Wait(time) => self.wait(time).await?,
            Command::Help => self.story.tell(self.cluster.scene().help()),
            Command::Quit => {}
        }
        Ok(())
    }

    /// Drains a node. A budget can hold a drain up for long: interactive users go on meanwhile.
    async fn drain(&mut self, node: Option<String>) -> Result<(), String> {
        let node = self.cluster.chosen(node).await?;
        self.story.tell_now(&format!("{node} is drained"));
        let (cluster, story) = (self.cluster.clone(), self.story.clone());
        let drain = async move {
            let evicted = cluster.drain(&node).await?;
            let pods = if evicted == 1 { "pod" } else { "pods" };
            story.tell_now(&format!("{node}: {evicted} {pods} evicted"));
            Ok(())
        };
        self.pursue(drain).await
    }

    /// Waits for the end of a piece of work. Interactive users can go on meanwhile.
    async fn pursue(
        &mut self,
        work: impl Future<Output = Result<(), String>> + Send + 'static,
    ) -> Result<(), String> {
        if !self.input.has_keys() {
            return work.await;
        }
        let story = self.story.clone();
        self.pending.spawn(async move {
            work.await.unwrap_or_else(|problem| story.tell(&problem));
        });
        Ok(())
    }

    async fn create(&self, name: Option<String>) -> Result<(), String> {
        let name = match name {
            Some(name) => name,
            None => self.cluster.next_cluster().await?,
        };
        self.story.tell_now(&format!("{name} is created"));
        self.cluster.create_cluster(&name).await
    }

    async fn delete(&mut self, name: Option<String>, foreground: bool) -> Result<(), String> {
        let one = self.cluster.chosen_cluster(name).await?;
        let how = if foreground { " in the foreground" } else { "" };
        self.story.tell_now(&format!("{} is deleted{how}", one.name_any()));
        let cluster = self.cluster.clone();
        self.pursue(async move { cluster.delete_cluster(one, foreground).await }).await
    }

    async fn heal(&self, node: Option<String>) -> Result<(), String> {
        let ill = self.cluster.ill(node.as_deref()).await?;
        for node in &ill {
            self.story.tell_now(&format!("{node} is well"));
        }
        if ill.is_empty() {
            self.story.tell_now("nothing to heal");
        }
        self.replicas.unseen(self.cluster.heal(&ill)).await
    }

    fn fail(&mut self) {
        let cloud = self.cluster.cloud();
        match self.failing.take() {
            Some(rule) => {
                self.story.tell_now("the cloud works again");
                cloud.clear(rule);
            }
            None => {
                self.story.tell_now("the cloud answers 503 to everything");
                let rule = Rule::new(On::any(), Fault::Answer(Answer::status(503)));
                self.failing = Some(cloud.inject(rule));
            }
        }
    }

    async fn wait(&self, time: Duration) -> Result<(), String> {
        let outcome = tokio::time::timeout(time, at_rest(&self.cluster)).await;
        match outcome {
            Ok(result) => result,
            Err(_) => {
                let unready = self.cluster.unready().await?;
                Err(format!("not ready after {time:?}: {}", unready.join(", ")))
            }
        }
    }

    async fn move_by_hand(
        &mut self,
        ip: Option<String>,
        node: Option<String>,
    ) -> Result<(), String> {
        let cloud = self.cluster.cloud().clone();
        let ip: IpAddr = match ip {
            Some(text) => text.parse().map_err(|_| format!("\"{text}\" is not an address"))?,
            None => cloud
                .look(|state| state.addresses().find(|one| one.holder.is_some()).map(|one| one.ip))
                .ok_or("no address is on a node")?,
        };
        if cloud.look(|state| state.address(ip).is_none()) {
            return Err(format!("the cloud has no address {ip}"));
        }
        let (name, to) = self.destination(node).await?;
        self.story.tell_now(&format!("somebody moves {ip} to {name} at the cloud"));
        cloud.human_moves(ip, to);
        let tally = self.book.begin();
        self.sum_up("after the move by hand", tally, None).await;
        Ok(())
    }

    /// A node and its machine: the named node, else a healthy node without addresses, else no node.
    async fn destination(&self, node: Option<String>) -> Result<(String, Option<u64>), String> {
        let nodes = self.cluster.all_nodes().await?;
        let found = match &node {
            Some(name) if name == NOWHERE => None,
            Some(name) => {
                let found = nodes.iter().find(|one| one.name_any() == *name);
                Some(found.ok_or_else(|| format!("there is no node \"{name}\""))?)
            }
            None => nodes.iter().find(|one| is_well(one) && self.cluster.held_by(one).is_empty()),
        };
        Ok(match found {
            Some(node) => (node.name_any(), machine(node)),
            None => ("no node".to_owned(), None),
        })
    }

    async fn crash(&mut self) -> Result<(), String> {
        let tally = self.book.begin();
        let (name, holder) = self.replicas.crash().await?;
        self.story.tell_now(&format!("the operator ({name}) is killed and started anew"));
        self.sum_up("after the crash", tally, Some(Before { holder, frozen: None })).await;
        Ok(())
    }

    async fn freeze(&mut self) -> Result<(), String> {
        let tally = self.book.begin();
        let Frozen { name, holder, brake, started } = self.replicas.freeze().await?;
        self.story.tell_now(&format!("the leader ({name}) is stopped; its lease runs out"));
        if let Some((other, pages)) = started {
            let line = format!("a second replica ({other}) is started: http://{pages}/metrics");
            self.story.tell_now(&line);
        }
        let before = Before { holder, frozen: Some((name, brake)) };
        self.sum_up("after the freeze", tally, Some(before)).await;
        Ok(())
    }

    /// Reports the effects of a command once all is at rest. Interactive users can go on meanwhile.
    async fn sum_up(&mut self, what: &'static str, tally: Tally, before: Option<Before>) {
        let (cluster, story) = (self.cluster.clone(), self.story.clone());
        let summary = async move {
            let begun = Instant::now();
            let rest = tokio::time::timeout(REST, settle(&cluster, &story, &tally, before)).await;
            let took = begun.elapsed().as_secs_f64();
            let problem = match rest {
                Ok(Ok(())) => String::new(),
                Ok(Err(problem)) => format!("; {problem}"),
                Err(_) => format!("; not at rest after {REST:?}"),
            };
            story.tell_now(&format!("{what}: {} (in {took:.1} s{problem})", tally.sum()));
        };
        if self.input.has_keys() {
            self.pending.spawn(summary);
        } else {
            summary.await;
        }
    }
}

/// The leader before a command.
struct Before {
    holder: String,
    /// Name and brake of the leader, if frozen.
    frozen: Option<(&'static str, Arc<Brake>)>,
}

/// Waits until another replica leads, if `before` is given, and all is at rest.
async fn settle(
    cluster: &Cluster,
    story: &Story,
    tally: &Tally,
    before: Option<Before>,
) -> Result<(), String> {
    if let Some(Before { holder, frozen }) = before {
        let next = loop {
            match Replicas::leader(cluster.client()).await? {
                Some(next) if next != holder => break next,
                _ => tokio::time::sleep(CHECK_INTERVAL).await,
            }
        };
        let mark = tally.mark();
        let next = next.split_once('_').map_or(next.as_str(), |(name, _)| name);
        story.tell_now(&format!("{next} leads"));
        // A new leader may act after its first listing.
        while !tally.was_read_since(mark) {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
        if let Some((name, brake)) = frozen {
            brake.release();
            story.tell_now(&format!("{name} runs again"));
        }
    }
    at_rest(cluster).await?;
    loop {
        let calls = tally.sum().calls;
        tokio::time::sleep(QUIET).await;
        if tally.sum().calls == calls {
            return at_rest(cluster).await;
        }
    }
}

/// Waits until every object is ready and its status matches the provider.
async fn at_rest(cluster: &Cluster) -> Result<(), String> {
    loop {
        let begun = Instant::now();
        if cluster.unready().await?.is_empty() {
            return Ok(());
        }
        // Looks at a large cluster must not slow it down.
        tokio::time::sleep(CHECK_INTERVAL.max(begun.elapsed() * 4)).await;
    }
}
