/** The generated messages are those of the .proto files beside them. */

import { assertEquals } from "@std/assert";
import { FOLDER, origin, sources } from "../../tools/protos.ts";

Deno.test("the messages in src/tensorflow/proto are up to date", async () => {
  const first = await origin();
  for (const name of sources()) {
    const file = `${FOLDER}/${name.replace(/\.proto$/, "_pb.ts")}`;
    assertEquals(
      Deno.readTextFileSync(file).split("\n")[0],
      first,
      `${file}: run deno task protos`,
    );
  }
});
