/** The generated messages are those of the .proto files beside them. */

import { assertEquals } from "@std/assert";
import { FOLDERS, origin, sources } from "../../tools/protos.ts";

for (const folder of FOLDERS) {
  Deno.test(`the messages in ${folder} are up to date`, async () => {
    const first = await origin(folder);
    for (const name of sources(folder)) {
      const file = `${folder}/${name.replace(/\.proto$/, "_pb.ts")}`;
      assertEquals(
        Deno.readTextFileSync(file).split("\n")[0],
        first,
        `${file}: run deno task protos`,
      );
    }
  });
}
