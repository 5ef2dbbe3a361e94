/** A task `script` of the cluster that the first argument says, for tests that kill it. */

import type { NdArray } from "@weft/weft";
import { Server } from "@weft/weft/distribute";

const server = new Server({
  cluster: JSON.parse(Deno.args[0]),
  job: "script",
  scripts: {
    "test.twice@1": (x: NdArray) => x.map((v) => 2 * Number(v)),
    "test.never@1": () => {
      console.log("called");
      return new Promise<NdArray>(() => {});
    },
  },
});
await server.start();
console.log(server.target);
