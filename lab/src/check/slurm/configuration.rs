//! What the daemons and their clients read: one `slurm.conf` for a machine that plays two nodes.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// The nodes, both on this machine; jobs are spread over them in this order.
pub(crate) const NODES: [&str; 2] = ["node1", "node2"];

/// Processors that each node says it has. The machine may have fewer: nothing binds a task to one.
pub(crate) const NODE_CPUS: usize = 2;

/// Longest path of a socket that Linux takes, with its closing zero.
const MOST_SOCKET_BYTES: usize = 107;

/// Ports of the controller and of the nodes, on the loopback address.
pub(super) struct Ports {
    controller: u16,
    nodes: [u16; NODES.len()],
}

impl Ports {
    /// Ports that nobody listens on now.
    pub(super) fn free() -> Result<Ports> {
        // All are held until the last is known, so that they differ.
        let listen =
            || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on the loopback address");
        let held = [listen()?, listen()?, listen()?];
        let port = |l: &TcpListener| Ok::<u16, std::io::Error>(l.local_addr()?.port());
        Ok(Ports { controller: port(&held[0])?, nodes: [port(&held[1])?, port(&held[2])?] })
    }
}

/// The folder's path as it can stand in `slurm.conf`, where nothing can be quoted.
pub(super) fn plain(folder: &Path) -> Result<&str> {
    let text = folder.to_str().context("the target folder's path is not UTF-8")?;
    let fits = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-+".contains(&b));
    ensure!(
        fits && text.len() + "/munge.socket".len() <= MOST_SOCKET_BYTES,
        "Slurm cannot work in `{text}`: the path is too long or has blanks or signs; set CARGO_TARGET_DIR to another"
    );
    Ok(text)
}

/// `slurm.conf` with everything under `folder`, run by `user`.
///
/// Nothing is accounted and nothing is put into control groups, which a container need not have. Slurm looks for what to do
/// every second; it waits long for answers, for a busy machine is not a node that is down.
pub(super) fn written(folder: &str, user: &str, ports: &Ports) -> String {
    let mut text = format!(
        "\
ClusterName=ptsm
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1000
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
PropagateResourceLimits=NONE
JobRequeue=0
ReturnToService=2
SlurmctldTimeout=120
SlurmdTimeout=120
MessageTimeout=30
KillWait=1
MinJobAge=3600
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=1
",
        controller = ports.controller,
    );
    for (node, port) in NODES.iter().zip(ports.nodes) {
        text += &format!(
            "NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs={NODE_CPUS} RealMemory=8000\n"
        );
    }
    text += &format!("PartitionName=all Nodes={} Default=YES MaxTime=INFINITE State=UP\n", NODES.join(","));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_differ() {
        let ports = Ports::free().unwrap();
        let [one, two] = ports.nodes;
        assert!(one != two && one != ports.controller && two != ports.controller);
    }

    #[test]
    fn folders_that_slurm_cannot_write_down_are_refused() {
        assert_eq!(plain(Path::new("/a/target/slurm/12")).unwrap(), "/a/target/slurm/12");
        for folder in ["/a b/target".to_string(), "/a#b".into(), "/a".repeat(60)] {
            let error = plain(Path::new(&folder)).unwrap_err().to_string();
            assert!(error.contains("CARGO_TARGET_DIR"), "{error}");
        }
    }

    #[test]
    fn every_node_has_a_port_and_is_in_the_partition() {
        let text = written("/tmp/x", "root", &Ports { controller: 1, nodes: [2, 3] });
        assert!(text.contains("NodeName=node1 ") && text.contains("Port=2 "));
        assert!(text.contains("NodeName=node2 ") && text.contains("Port=3 "));
        assert!(text.contains("Nodes=node1,node2 ") && text.contains("SlurmctldPort=1\n"));
    }
}
