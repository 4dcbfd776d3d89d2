using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private", "local"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);

const worker :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "dist/worker.mjs")],
  compatibilityDate = "2026-07-01",
  bindings = [(name = "URLS", fromEnvironment = "URLS")],
);
