/** Nested numbers that agree to a tolerance relative to their scale. */

import { assertEquals, fail } from "@std/assert";

/** Fails where shapes differ or a number is off by more than `tolerance` times the greatest magnitude (at least 1). */
export function assertClose(
  actual: unknown,
  expected: unknown,
  tolerance: number,
  what: string,
): void {
  const a = [actual].flat(Infinity).map(Number), b = [expected].flat(Infinity).map(Number);
  assertEquals(a.length, b.length, `${what}: number of elements`);
  const scale = Math.max(1, ...b.map(Math.abs));
  a.forEach((v, i) => {
    if (!(Math.abs(v - b[i]) <= tolerance * scale)) {
      fail(`${what}: element ${i} is ${v}, wanted ${b[i]}`);
    }
  });
}
