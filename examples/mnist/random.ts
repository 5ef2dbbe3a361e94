// Random numbers that a seed determines, so that two runs of the demo train the same network.

/** Numbers from 0 to before 1. */
export type Random = () => number;

/** A generator of random numbers (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t ^= t + Math.imul(t ^ (t >>> 7), 61 | t);
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** Numbers of a normal distribution around 0 (Box and Muller). */
export function normals(
  random: Random,
  count: number,
  deviation: number,
): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: count }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    return deviation * radius * Math.cos(2 * Math.PI * random());
  });
}
