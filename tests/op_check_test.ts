/**
 * Every registered op, checked with `opCheck` over its samples on every device there is.
 *
 * `WEFT_OPS=Mul,Sum` checks those ops only.
 */

import { assertEquals } from "@std/assert";
import { setBackend } from "@weft/weft";
import { opCheck, registeredOpNames } from "@weft/weft/testing";
import { HAS_WEBGPU } from "./devices.ts";
import { isOfTheDay } from "./effort.ts";
import { FAMILIES, WITHOUT_SAMPLES } from "./op_samples/mod.ts";

const samples = Object.assign({}, ...Object.values(FAMILIES)) as (typeof FAMILIES)[string];
const only = Deno.env.get("WEFT_OPS")?.split(",").filter((name) => name !== "") ?? [];

Deno.test("every op has samples, or a reason why not", () => {
  const missing = registeredOpNames().filter((name) =>
    !(name in samples) && !(name in WITHOUT_SAMPLES)
  );
  assertEquals(missing, [], "These ops have no samples in tests/op_samples");
});

Deno.test("every op has its samples in one file", () => {
  const names = Object.values(FAMILIES).flatMap((table) => Object.keys(table));
  assertEquals(names.filter((name, i) => names.indexOf(name) < i), []);
});

Deno.test("every sample belongs to an op, and every reason", () => {
  const names = new Set(registeredOpNames());
  const stale = [...Object.keys(samples), ...Object.keys(WITHOUT_SAMPLES)].filter((name) =>
    !names.has(name)
  );
  assertEquals(stale, [], "These names in tests/op_samples are no ops");
});

for (const [name, all] of Object.entries(samples)) {
  if (only.length > 0 && !only.includes(name)) continue;
  // Each op is checked every day, by its first samples, which are tried in every dtype, and a third of the others.
  const first = (count: number) => all.filter((_, i) => i < count || isOfTheDay(i, 3));
  Deno.test(`${name} holds in every way it is run [cpu]`, async () => {
    await opCheck(name, first(2), { devices: ["CPU"], samplesInEveryDtype: 2 });
  });
  Deno.test({
    name: `${name} holds in every way it is run [webgpu]`,
    ignore: !HAS_WEBGPU,
    async fn() {
      await setBackend("webgpu");
      await setBackend("cpu");
      await opCheck(name, first(1), { devices: ["GPU"], samplesInEveryDtype: 1 });
    },
  });
}
