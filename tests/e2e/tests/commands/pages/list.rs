//! The pages, and what of them can't be as it is written.

/// A page of `docs/`.
pub(super) struct Page {
    /// Its file.
    pub(super) name: &'static str,
    /// Controllers that run: `$OLD` and `$NEW` are their addresses, `$WORK` and `$HEALTH` the first one's.
    pub(super) controllers: usize,
    /// The state that the page begins with, as a script. `{NS}` is a namespace whose Service `echo` has endpoints.
    pub(super) setup: &'static str,
    /// Names of the page, and what stands for them here.
    pub(super) stand_ins: &'static [(&'static str, &'static str)],
    /// Commands that can't run.
    pub(super) excuses: &'static [Excuse],
}

/// A command that can't run here.
pub(super) struct Excuse {
    /// A part of it.
    pub(super) command: &'static str,
    /// The reason.
    pub(super) why: &'static str,
    /// The check in its place, as a script.
    pub(super) instead: &'static str,
}

/// The log of a controller.
pub(super) const LOG: &str = "192.0.2.1 - - [23/Nov/2026:03:00:00 +0000] \"GET /cart/5 HTTP/1.1\" 200 12 \"-\" \"curl/8\" 90 0.001 [shop-shop-80] [] 10.0.0.1:8080 12 0.001 200 0123456789abcdef0123456789abcdef\n";

const ENGINE: &str = "an image takes root and a container engine: `make image-test` builds and runs it";
const RELEASE: &str = "a build of its own: `make release` is a target of CI";
const SYSTEMD: &str = "no systemd runs here";
const NO_KUBELET: &str = "no kubelet with containers runs here";

/// The release `narthex` as on the page about installation. Of the cluster's classes it makes its own.
macro_rules! released {
    () => {
        "
kubectl delete ingressclass nginx
helm install narthex charts/narthex --namespace ingress --create-namespace
kubectl rollout status deployment/narthex-controller --namespace ingress --timeout 2m
"
    };
}

/// The Ingress `shop` of the page about troubles, whose Service has the endpoints of `echo`.
macro_rules! shop {
    () => {
        "
kubectl create namespace shop
addresses=$(kubectl get endpointslices --namespace {NS} --output jsonpath='{.items[0].endpoints[*].addresses[0]}')
kubectl apply --filename - <<END
{apiVersion: v1, kind: Service, metadata: {name: shop, namespace: shop}, spec: {ports: [{name: http, port: 80, targetPort: 8080}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: shop, namespace: shop, labels: {kubernetes.io/service-name: shop}}
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [\"${addresses%% *}\"], conditions: {ready: true}}]
END
kubectl create ingress shop --namespace shop --class nginx --rule 'shop.example.com/*=shop:80'
until [ \"$(curl --silent --output /dev/null --write-out '%{http_code}' --header 'Host: shop.example.com' \"http://${OLD%,*}/\")\" = 200 ]; do sleep 0.1; done
"
    };
}

/// Two controllers of one class, and the objects that installations of ingress-nginx have.
const MIGRATE: &str = concat!(
    shop!(),
    "
kubectl create namespace ingress-nginx
kubectl apply --filename - <<END
{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: narthex}, spec: {controller: k8s.io/ingress-nginx}}
END
kubectl delete ingressclass nginx
helm install ingress-nginx charts/narthex --namespace ingress-nginx --set nameOverride=ingress-nginx
kubectl create deployment narthex --namespace ingress-nginx --image narthex --replicas 1 --dry-run=client --output json \\
  | sed 's|\"app\": \"narthex\"|\"app.kubernetes.io/name\": \"narthex\"|' | kubectl apply --filename -
kubectl rollout status deployment/narthex --namespace ingress-nginx --timeout 2m
until [ \"$(curl --silent --output /dev/null --write-out '%{http_code}' --header 'Host: shop.example.com' \"http://${NEW%,*}/\")\" = 200 ]; do sleep 0.1; done
"
);
const TROUBLE: &str = concat!(shop!(), released!());
const TUNING: &str = released!();

/// The controller that `make run` would start, and the host of its example.
const STARTED: &str = "
kubectl create ingress hello --namespace {NS} --class nginx --rule 'hello.example.com/*=echo:80'
until [ \"$(curl --silent --output /dev/null --write-out '%{http_code}' --header 'Host: hello.example.com' \"http://${OLD%,*}/\")\" = 200 ]; do sleep 0.1; done
";
/// That host answers.
const ANSWERS: &str = "curl --fail --silent --header 'Host: hello.example.com' \"http://${OLD%,*}/\" | grep --quiet ^address=";
const KIND: &str = "no container engine runs here";

/// All of them.
pub(super) const PAGES: &[Page] = &[
    Page {
        name: "getting-started.md",
        controllers: 1,
        setup: STARTED,
        stand_ins: &[("--work-dir DIR", "--work-dir $WORK"), ("narthex doctor --work-dir $WORK", "narthex doctor --work-dir $WORK || [ $? = 1 ]")],
        excuses: &[
            Excuse { command: "make run", why: "it would take the ports of this machine; `make bench` times it", instead: "make --dry-run run" },
            Excuse { command: "while sleep 0.2", why: "it does not end", instead: ANSWERS },
            Excuse { command: "hello.example.com' http://127.0.0.1:8080/hostname", why: NO_KUBELET, instead: "true" },
            Excuse { command: "curl -H 'Host: hello.example.com'", why: "the controller has other ports here", instead: ANSWERS },
            Excuse { command: "make image", why: ENGINE, instead: "make --dry-run image" },
            Excuse { command: "kind create cluster", why: KIND, instead: "kubectl delete ingressclass nginx" },
            Excuse { command: "kind load docker-image", why: KIND, instead: "true" },
            Excuse {
                command: "kubectl port-forward",
                why: NO_KUBELET,
                instead: "kubectl get service narthex-controller --namespace ingress --output jsonpath='{.spec.ports[*].port}' | grep --quiet --word-regexp 80",
            },
        ],
    },
    Page {
        name: "install.md",
        controllers: 0,
        setup: "kubectl delete ingressclass nginx",
        stand_ins: &[
            ("/usr/bin/narthex", "$ROOT/usr/bin/narthex"),
            ("/etc/systemd/system/", "$ROOT/etc/systemd/system/"),
            ("/srv/ingress", "$ROOT/srv/ingress"),
            ("target/narthex-$(uname -m)", "$NARTHEX_BIN"),
        ],
        excuses: &[
            Excuse { command: "make image", why: ENGINE, instead: "make --dry-run image" },
            Excuse { command: "make release", why: RELEASE, instead: "make --dry-run release" },
            Excuse {
                command: "apt-get install",
                why: "tests install nothing",
                instead: "for package in libnginx-mod-http-lua libnginx-mod-http-headers-more-filter libnginx-mod-stream libnginx-mod-stream-js; do \
                          grep --quiet --word-regexp \"$package\" scripts/setup.sh; done",
            },
            Excuse { command: "systemctl disable --now nginx", why: SYSTEMD, instead: "grep --quiet '^Conflicts=nginx.service' deploy/narthex.service" },
            Excuse {
                command: "systemctl daemon-reload",
                why: SYSTEMD,
                instead: "mkdir units
                    sed \"s|/usr/bin/narthex|$NARTHEX_BIN|\" \"$ROOT/etc/systemd/system/narthex.service\" >units/narthex.service
                    complaints=$(systemd-analyze verify units/narthex.service 2>&1)
                    if [ -n \"$complaints\" ]; then echo \"$complaints\"; exit 1; fi",
            },
            Excuse {
                command: "systemctl enable --now narthex",
                why: SYSTEMD,
                instead: "set -- $PORTS
                    command=$(sed -n 's/^ExecStart=//p' deploy/narthex.service)
                    command=${command//\\/usr\\/bin\\/narthex/$NARTHEX_BIN} command=${command//\\/srv\\/ingress/$ROOT/srv/ingress}
                    $NARTHEX_BIN ${command#* } --work-dir \"$PWD/work\" --http-port $1 --https-port $2 --healthz-port $3 >unit.log 2>&1 & controller=$!
                    until curl --fail --silent \"http://127.0.0.1:$3/readyz\" >ready; do kill -0 $controller || { cat unit.log; exit 1; }; sleep 0.1; done
                    kill -HUP $controller
                    kill -TERM $controller
                    wait $controller",
            },
            Excuse { command: "http://127.0.0.1:10254/readyz", why: SYSTEMD, instead: "grep --quiet '\"ready\": *true' ready" },
        ],
    },
    Page {
        name: "upgrade.md",
        controllers: 0,
        setup: released!(),
        stand_ins: &[("/etc/systemd/system/", "$ROOT/etc/systemd/system/"), ("/run/narthex/", "work/")],
        excuses: &[
            Excuse { command: "useradd", why: "tests add no users", instead: "grep --quiet '^User=narthex$' deploy/narthex-leave-nginx.conf" },
            Excuse { command: "systemctl daemon-reload", why: SYSTEMD, instead: "grep --quiet '^KillMode=process$' \"$ROOT/etc/systemd/system/narthex.service.d/leave-nginx.conf\"" },
            // As systemd does with that drop-in, twice: NGINX and its workers stay, and serve while there is no controller.
            Excuse {
                command: "systemctl restart narthex.service",
                why: SYSTEMD,
                instead: "set -- $PORTS
                    command=$(sed -n 's|^ExecStart=/usr/bin/narthex ||p' deploy/narthex-leave-nginx.conf)
                    command=${command/\\/srv\\/ingress/examples}
                    start() {
                      $NARTHEX_BIN $command --work-dir work --http-port $1 --https-port $2 --healthz-port $3 >>unit.log 2>&1 & controller=$!
                      until curl --fail --silent --output ready \"http://127.0.0.1:$3/readyz\"; do kill -0 $controller || { cat unit.log; exit 1; }; sleep 0.1; done
                    }
                    start \"$@\"
                    master=$(cat work/run/nginx.pid) workers=$(pgrep --parent $(cat work/run/nginx.pid))
                    kill -TERM $controller
                    wait $controller
                    curl --silent --output answer \"http://127.0.0.1:$1/\"
                    start \"$@\"
                    test \"$(cat work/run/nginx.pid)\" = \"$master\"
                    test \"$(pgrep --parent $master)\" = \"$workers\"
                    kill -TERM $controller
                    wait $controller",
            },
            Excuse { command: "install -m 0755", why: SYSTEMD, instead: "test -x \"$NARTHEX_BIN\"" },
            Excuse { command: "systemctl restart narthex", why: SYSTEMD, instead: "grep --quiet '^Restart=always' deploy/narthex.service" },
            Excuse { command: "http://127.0.0.1:10254/readyz", why: SYSTEMD, instead: "true" },
        ],
    },
    Page {
        name: "migrate.md",
        controllers: 2,
        setup: MIGRATE,
        stand_ins: &[
            ("--old OLD --new NEW", "--old $OLD --new $NEW"),
            // There is no terminal to answer on.
            ("narthex switch ", "narthex switch --yes "),
            ("manifests/", "examples"),
            // That of our own webhook: no release of ingress-nginx has been here.
            ("get secret ingress-nginx-admission ", "get secret ingress-nginx-admission-certificate "),
        ],
        excuses: &[],
    },
    Page {
        name: "troubleshooting.md",
        controllers: 1,
        setup: TROUBLE,
        stand_ins: &[("127.0.0.1:10254/", "$HEALTH/"), ("bin/kubectl", "home/kubectl")],
        excuses: &[Excuse {
            command: "kubectl port-forward",
            why: NO_KUBELET,
            instead: "kubectl get deployment narthex-controller --namespace ingress --output jsonpath='{..livenessProbe.httpGet.port}' | grep --quiet 10254",
        }],
    },
    Page { name: "tuning.md", controllers: 1, setup: TUNING, stand_ins: &[], excuses: &[] },
];
