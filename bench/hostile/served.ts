// The command `serve`, which says what its threads hold after a collection when it gets the signal SIGUSR2.

import v8 from "node:v8";
import vm from "node:vm";
import { runCommand } from "../../src/serve/main.ts";

const isWorker = "WorkerGlobalScope" in globalThis;
const channel = new BroadcastChannel("weft.soak.held");

function tell(): void {
  v8.setFlagsFromString("--expose-gc");
  (vm.runInNewContext("gc") as () => void)();
  const { heapUsed, external } = Deno.memoryUsage();
  console.log(
    `${isWorker ? "worker" : "listener"} holds ${((heapUsed + external) / 2 ** 20).toFixed(1)} MiB`,
  );
}

if (isWorker) channel.onmessage = tell;
else {
  Deno.addSignalListener("SIGUSR2", () => {
    tell();
    channel.postMessage(null);
  });
}
await runCommand();
