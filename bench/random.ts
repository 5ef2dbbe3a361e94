// Reproducible inputs: every system gets the same numbers, and so does the float64 reference.

/** A generator of uniform numbers in [0, 1) (mulberry32). */
export function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Normally distributed float32 values with the given standard deviation. */
export function normals(size: number, seed: number, deviation = 1): Float32Array<ArrayBuffer> {
  const next = uniform(seed);
  const values = new Float32Array(size);
  for (let i = 0; i < size; i += 2) {
    // Box–Muller: two independent normals from two uniforms.
    const radius = deviation * Math.sqrt(-2 * Math.log(1 - next()));
    const angle = 2 * Math.PI * next();
    values[i] = radius * Math.cos(angle);
    if (i + 1 < size) values[i + 1] = radius * Math.sin(angle);
  }
  return values;
}

/** Whole numbers in [0, below). */
export function integers(size: number, seed: number, below: number): Int32Array<ArrayBuffer> {
  const next = uniform(seed);
  return Int32Array.from({ length: size }, () => Math.floor(next() * below));
}

/** Number of elements of a shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, dim) => size * dim, 1);
}

/** A few dozen indices spread over [0, size), with both ends. */
export function spread(size: number, count = 48): number[] {
  if (size <= count) return Array.from({ length: size }, (_, i) => i);
  const next = uniform(size);
  const picked = Array.from({ length: count - 2 }, () => Math.floor(next() * size));
  return [0, ...picked, size - 1];
}
