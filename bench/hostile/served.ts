// The command `serve`, which says what its threads hold after a collection when it gets the signal SIGUSR2. With WEFT_PROBE in the
// environment its process has honest clients as well, see probe.ts; its port is told then.

import v8 from "node:v8";
import vm from "node:vm";
import { runCommand } from "../../src/serve/main.ts";
import type { Probed } from "./probe.ts";

/** The command's first thread waits for the two others. */
const isFirst = !("WorkerGlobalScope" in globalThis);
const isWorker = (globalThis as { readonly name?: string }).name === "weft models",
  isProbed = Deno.env.has("WEFT_PROBE");
/** The first thread asks by null what the others hold; the worker tells its thread. */
const channel = new BroadcastChannel("weft.soak.held");

function tell(): void {
  v8.setFlagsFromString("--expose-gc");
  (vm.runInNewContext("gc") as () => void)();
  const { heapUsed, external } = Deno.memoryUsage();
  console.log(
    `${isWorker ? "worker" : "listener"} holds ${((heapUsed + external) / 2 ** 20).toFixed(1)} MiB`,
  );
}

async function probe(worker: number): Promise<void> {
  const { threadId } = await import("./thread_time.ts");
  const port = Number(/--port=(\d+)/.exec(Deno.args.join(" "))![1]);
  const told: Probed = { port, listener: threadId(), worker };
  new Worker(new URL("probe.ts", import.meta.url), { type: "module" }).postMessage(told);
}

if (isFirst) Deno.addSignalListener("SIGUSR2", () => channel.postMessage(null));
else {
  channel.onmessage = ({ data }: MessageEvent<number | null>) => {
    if (data === null) tell();
    else if (!isWorker) void probe(data);
  };
  if (isWorker && isProbed) channel.postMessage((await import("./thread_time.ts")).threadId());
}
await runCommand();
