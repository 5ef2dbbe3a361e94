/** Formats of floats, and codes of those that typed arrays do not hold. */
import { assert, assertEquals } from "@std/assert";
import { codeOf, DTYPES } from "../../src/engine/core/dtype.ts";

const FLOATS = Object.values(DTYPES).flatMap(({ name, float, bytes, array }) =>
  float !== null && array !== undefined ? [{ name, float, bytes, array }] : []
);

Deno.test("each float's format agrees with what its array rounds", async (t) => {
  for (const { name, float: { fraction, greatest, least, code }, array } of FLOATS) {
    await t.step(name, () => {
      const stored = new array(1) as Float64Array;
      const rounded = (x: number): number => {
        if (code !== null) return code.decode(code.encode(x));
        stored[0] = x;
        return stored[0];
      };
      const step = 2 ** -fraction;
      assertEquals(rounded(1 + step), 1 + step);
      assertEquals(rounded(1 + step / 2), 1, "ties to even, below");
      assertEquals(rounded(1 + 1.5 * step), 1 + 2 * step, "ties to even, above");
      for (const x of [greatest, least, 0, -0, -greatest, -least, -1.5]) {
        assertEquals(rounded(x), x);
      }
      assertEquals(rounded(greatest * (1 + step / 8)), greatest, "rounds to the greatest");
      assert(!Number.isFinite(rounded(greatest * (1 + step))), "nothing finite is greater");
      assert(Number.isNaN(rounded(NaN)));
    });
  }
});

Deno.test("codes give all their bits again", async (t) => {
  for (const { name, bytes } of FLOATS) {
    const code = codeOf(name);
    if (code === null) continue;
    await t.step(name, () => {
      for (let bits = 0; bits < 256 ** bytes; bits++) {
        const value = code.decode(bits);
        // NaN has many codes.
        if (value === value) assertEquals(code.encode(value), bits);
        else assert(Number.isNaN(code.decode(code.encode(value))));
      }
    });
  }
});
