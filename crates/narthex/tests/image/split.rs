//! The chart's own Pod, with one container and with two: Lua in NGINX's container looks for the token of the ServiceAccount.

use std::fs::{self, File, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use serde_json::{Value, json};
use testkit::http::Request;
use testkit::poll;

use crate::container::{LIMIT, crun, root};

const TOKEN: &str = "the-token-of-the-service-account";
const MOUNTED: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// A tenant with all rights: its Lua answers with what it can read of all places where a token could be.
const MANIFEST: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: narthex-controller, namespace: ingress}
data: {allow-snippet-annotations: 'true', annotations-risk-level: Critical}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: thief
  namespace: shop
  annotations:
    nginx.ingress.kubernetes.io/server-snippet: |
      location = /thief {
        content_by_lua_block {
          local found = { "looked" }
          local function look(path)
            local file = io.open(path)
            if file then
              found[#found + 1] = path .. ": " .. (file:read("*a") or "")
              file:close()
            end
          end
          local mounted = "/run/secrets/kubernetes.io/serviceaccount/"
          for _, name in ipairs({ "token", "..data/token" }) do
            look("/var" .. mounted .. name)
            look(mounted .. name)
            for pid = 1, 200 do
              look("/proc/" .. pid .. "/root" .. mounted .. name)
              look("/proc/" .. pid .. "/cwd/../.." .. mounted .. name)
            end
          end
          for pid = 1, 200 do
            look("/proc/" .. pid .. "/environ")
          end
          ngx.say(table.concat(found, "\n"))
        }
      }
spec:
  ingressClassName: nginx
  rules: [{host: thief.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}}]
"#;

/// A Pod whose containers run, in a network of this thread's own.
struct Pod {
    scratch: tempfile::TempDir,
    containers: Vec<(String, Child)>,
}

/// What the chart makes of these values, without a webhook: that needs a cluster, and there are manifests.
fn rendered(values: &str) -> Value {
    let exe = std::env::current_exe().unwrap();
    let helm = exe.ancestors().map(|dir| dir.join("bed/bin/helm")).find(|helm| helm.exists()).expect("helm of the bed: make bed");
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/narthex");
    let without = "--set=controller.admissionWebhooks.enabled=false";
    let arguments = ["template", "narthex", "--namespace=ingress", "--show-only=templates/controller/workload.yaml", without, values];
    let output = Command::new(helm).args(arguments).arg(chart).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let workload: Value = serde_saphyr::from_str(&String::from_utf8(output.stdout).unwrap()).unwrap();
    workload["spec"]["template"]["spec"].clone()
}

impl Pod {
    /// Starts the containers of a Pod as a kubelet does, with a directory of manifests in the place of a cluster.
    fn start(values: &str) -> Self {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
        let spec = rendered(values);
        let mut pod = Self { scratch: tempfile::tempdir().unwrap(), containers: Vec::new() };
        pod.volumes(&spec);
        for container in spec["containers"].as_array().unwrap() {
            pod.run(&spec, container);
        }
        pod
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn directory(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    /// The volumes; the token belongs to the user whom all containers have, with mode 0600.
    fn volumes(&self, spec: &Value) {
        fs::write(self.directory("manifests", 0o755).join("all.yaml"), MANIFEST).unwrap();
        self.directory("state", 0o700);
        let token = self.directory("volume-token", 0o755).join("token");
        fs::write(&token, TOKEN).unwrap();
        fs::set_permissions(&token, Permissions::from_mode(0o600)).unwrap();
        chown(&token, Some(101), Some(82)).unwrap();
        for volume in spec["volumes"].as_array().unwrap() {
            let name = volume["name"].as_str().unwrap();
            assert!(volume.get("emptyDir").is_some() || name == "token", "{volume}");
            self.directory(&format!("volume-{name}"), if name == "token" { 0o755 } else { 0o777 });
        }
    }

    fn run(&mut self, spec: &Value, container: &Value) {
        let name = container["name"].as_str().unwrap();
        let bundle = self.directory(&format!("bundle-{name}"), 0o755);
        fs::write(bundle.join("config.json"), self.specification(spec, container).to_string()).unwrap();
        let log = File::create(self.path(&format!("{name}.log"))).unwrap();
        let id = format!("narthex-pod-{}-{name}", std::process::id());
        let mut command = crun(self.scratch.path());
        command.arg("run").arg("--bundle").arg(bundle).arg(&id).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.containers.push((id, command.spawn().unwrap()));
    }

    fn specification(&self, spec: &Value, container: &Value) -> Value {
        let security = &container["securityContext"];
        let added = security["capabilities"]["add"].as_array().unwrap().iter();
        let capabilities: Vec<String> = added.map(|name| format!("CAP_{}", name.as_str().unwrap())).collect();
        let arguments =
            container["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().replace("$(POD_NAMESPACE)", "ingress"));
        let mut arguments: Vec<String> = ["/usr/bin/narthex".to_owned()].into_iter().chain(arguments).collect();
        let bind = |source: PathBuf, destination: &Value, mode: &str| json!({"type": "bind", "source": source, "destination": destination, "options": ["rbind", mode]});
        let mut mounts = vec![
            json!({"type": "proc", "source": "proc", "destination": "/proc"}),
            json!({"type": "tmpfs", "source": "tmpfs", "destination": "/dev", "options": ["nosuid", "mode=755"]}),
            json!({"type": "tmpfs", "source": "tmpfs", "destination": "/run", "options": ["nosuid", "mode=755"]}),
        ];
        let own = container["volumeMounts"].as_array().unwrap().iter();
        mounts.extend(own.map(|mount| bind(self.path(&format!("volume-{}", mount["name"].as_str().unwrap())), &mount["mountPath"], "rw")));
        // What the API server's admission adds.
        if spec["automountServiceAccountToken"] == json!(true) {
            mounts.push(bind(self.path("volume-token"), &json!(MOUNTED), "ro"));
        }
        if arguments[1] == "run" {
            mounts.push(bind(self.path("manifests"), &json!("/usr/local/certificates"), "ro"));
            arguments.push("--manifests=/usr/local/certificates".to_owned());
        }
        json!({
            "ociVersion": "1.0.2",
            "root": {"path": root(), "readonly": true},
            "process": {
                "user": {"uid": security["runAsUser"], "gid": security["runAsGroup"]},
                "args": arguments,
                "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "XDG_RUNTIME_DIR=/run"],
                "cwd": "/etc/nginx",
                "noNewPrivileges": security["allowPrivilegeEscalation"] == json!(false),
                "capabilities": {"bounding": capabilities, "permitted": capabilities, "effective": capabilities},
            },
            "mounts": mounts,
            "linux": {"namespaces": [{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}]},
        })
    }

    fn logs(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.path(name)).unwrap_or_default();
        format!("{}\n{}", read("controller.log"), read("nginx.log"))
    }

    /// What the tenant's Lua found.
    async fn found(&self) -> String {
        let asked = poll(LIMIT, || async {
            let answer = Request::get(SocketAddr::from(([127, 0, 0, 1], 80)), "/thief").host("thief.example.com").send().await?;
            anyhow::ensure!(answer.status == 200 && answer.text().starts_with("looked"), "{} {}", answer.status, answer.text());
            Ok(answer.text())
        });
        asked.await.unwrap_or_else(|error| panic!("{error:#}\n{}", self.logs()))
    }

    fn exec(&self, container: usize, command: &[&str]) -> String {
        let output =
            crun(self.scratch.path()).args(["exec", "--user", "101:82", &self.containers[container].0]).args(command).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        for (id, child) in &mut self.containers {
            let _ = crun(self.scratch.path()).args(["delete", "--force", id]).output();
            let _ = child.wait();
        }
    }
}

#[tokio::test]
async fn with_two_containers_lua_in_nginx_finds_no_token() {
    let mut pod = Pod::start("--set=controller.splitDataPlane=true");
    let found = pod.found().await;
    assert!(!found.contains(TOKEN), "{found}");
    // It is there, in the other container, for the same user.
    assert_eq!(pod.exec(0, &["cat", &format!("{MOUNTED}/token")]), TOKEN);
    assert!(pod.exec(1, &["cat", &format!("{MOUNTED}/token")]).contains("No such file"));
    // The hook of NGINX's container ends NGINX; the controller is asked as well.
    pod.exec(1, &["/wait-shutdown"]);
    assert_eq!(pod.containers[1].1.wait().unwrap().code(), Some(0), "{}", pod.logs());
}

#[tokio::test]
async fn with_one_container_the_kernel_hides_the_token_from_lua_in_nginx() {
    let pod = Pod::start("--set=controller.splitDataPlane=false");
    let found = pod.found().await;
    let logs = pod.logs();
    if logs.contains("the kernel has no Landlock") {
        return;
    }
    assert!(!found.contains(TOKEN), "{found}");
    assert!(logs.contains("NGINX can't read the service account's token"), "{logs}");
    assert_eq!(pod.exec(0, &["cat", &format!("{MOUNTED}/token")]), TOKEN);
}
