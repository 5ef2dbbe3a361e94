// The command `serve`, which says what its threads hold after a collection when it gets the signal SIGUSR2. With WEFT_PROBE in the
// environment its process has honest clients as well, see probe.ts; its port is told then.

import v8 from "node:v8";
import vm from "node:vm";
import { runCommand } from "../../src/serve/main.ts";
import type { Probed } from "./probe.ts";

const isWorker = "WorkerGlobalScope" in globalThis, isProbed = Deno.env.has("WEFT_PROBE");
/** The listener asks by null what the worker holds; the worker tells its thread. */
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

if (isWorker) {
  channel.onmessage = tell;
  if (isProbed) channel.postMessage((await import("./thread_time.ts")).threadId());
} else {
  channel.onmessage = ({ data }: MessageEvent<number>) => void probe(data);
  Deno.addSignalListener("SIGUSR2", () => {
    tell();
    channel.postMessage(null);
  });
}
await runCommand();
