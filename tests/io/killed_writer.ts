/** A process that saves over and over, for `deno task fuzz kills`: it writes a line after each save, until it is killed. */
import { KINDS, useModels, VALUES } from "./saved_kinds.ts";

const [kind, path, models] = Deno.args;
useModels(models!);
for (let n = 0;; n++) {
  await KINDS[kind!]!.write(path!, VALUES[n % VALUES.length]!);
  Deno.stdout.writeSync(new TextEncoder().encode(`${n}\n`));
}
