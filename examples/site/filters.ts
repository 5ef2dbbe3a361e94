/** Functions to put in the middle of the camera's graph: texts, as one edits them in the page. */

import type { Preset } from "./bodies.ts";

/** All of them; the first is in use when the page opens. */
export const FILTERS: readonly Preset[] = [
  {
    title: "Edges",
    text: `// How fast the grey changes (Sobel's filter), in plain loops.
function edges(image) {
  const [height, width] = image.shape;
  const from = image.data, to = new Float32Array(from.length);
  // Beyond the border there is nothing to blur with.
  for (let y = 3; y < height - 3; y++) {
    for (let x = 3; x < width - 3; x++) {
      const at = y * width + x, up = at - width, down = at + width;
      const right = from[up + 1] + 2 * from[at + 1] + from[down + 1]
        - from[up - 1] - 2 * from[at - 1] - from[down - 1];
      const below = from[down - 1] + 2 * from[down] + from[down + 1]
        - from[up - 1] - 2 * from[up] - from[up + 1];
      to[at] = Math.hypot(right, below);
    }
  }
  return { shape: image.shape, data: to };
}
`,
  },
  {
    title: "Thin lines",
    text: `// Edges that are stronger than both of their neighbours.
function lines(image) {
  const [height, width] = image.shape;
  const from = image.data, to = new Float32Array(from.length);
  const slope = (at, step) => Math.abs(from[at + step] - from[at - step]);
  for (let y = 4; y < height - 4; y++) {
    for (let x = 4; x < width - 4; x++) {
      const at = y * width + x;
      const step = slope(at, 1) > slope(at, width) ? 1 : width;
      const here = slope(at, step);
      if (here < 0.04) continue;
      if (here >= slope(at - step, step) && here > slope(at + step, step)) to[at] = 1;
    }
  }
  return { shape: image.shape, data: to };
}
`,
  },
  {
    title: "Bars",
    text: `// Bars as thick as each cell of 6 x 6 pixels is dark.
function bars(image) {
  const [height, width] = image.shape, cell = 6;
  const from = image.data, to = new Float32Array(from.length);
  for (let top = 0; top < height; top += cell) {
    for (let left = 0; left < width; left += cell) {
      const bottom = Math.min(height, top + cell), right = Math.min(width, left + cell);
      let sum = 0;
      for (let y = top; y < bottom; y++) {
        for (let x = left; x < right; x++) sum += from[y * width + x];
      }
      const dark = 1 - sum / ((bottom - top) * (right - left));
      for (let y = top; y < top + dark * (bottom - top); y++) {
        for (let x = left; x < right; x++) to[y * width + x] = 1;
      }
    }
  }
  return { shape: image.shape, data: to };
}
`,
  },
  {
    title: "Nothing",
    text: `// Draws no line anywhere.
function nothing(image) {
  return { shape: image.shape, data: new Float32Array(image.data.length) };
}
`,
  },
  {
    title: "One that throws",
    text: `// Fails: the picture goes on with the function before it.
function fails(image) {
  throw new Error(\`I do not like \${image.shape.join(" x ")}\`);
}
`,
  },
];
