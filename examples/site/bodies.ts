/** Functions to put in the middle of the network: texts, as one edits them in the page. */

/** A function to begin with. */
export interface Preset {
  /** Its title in the list. */
  readonly title: string;
  /** A function's text. */
  readonly text: string;
}

/** All of them; the first is in use when training starts. */
export const PRESETS: readonly Preset[] = [
  {
    title: "Moved about",
    text: `// Moves each image by a pixel or none: not every digit is drawn in the middle.
function move(images) {
  const [count, height, width] = images.shape;
  const from = images.data, to = new Uint8Array(from.length);
  const random = () => Math.floor(Math.random() * 3) - 1;
  for (let i = 0; i < count; i++) {
    const down = random(), right = random();
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const v = y - down, u = x - right;
        if (v < 0 || v >= height || u < 0 || u >= width) continue;
        to[(i * height + y) * width + x] = from[(i * height + v) * width + u];
      }
    }
  }
  return { shape: images.shape, data: to };
}
`,
  },
  {
    title: "As they are",
    text: `// Gives the network what was drawn.
function asTheyAre(images) {
  return images;
}
`,
  },
  {
    title: "Edges only",
    text: `// Keeps the edges, in plain loops: how much each pixel differs from the next ones.
function edges(images) {
  const [count, height, width] = images.shape;
  const from = images.data, to = new Uint8Array(from.length);
  for (let i = 0; i < count; i++) {
    for (let y = 0; y < height - 1; y++) {
      for (let x = 0; x < width - 1; x++) {
        const at = (i * height + y) * width + x;
        const across = from[at + 1] - from[at], down = from[at + width] - from[at];
        to[at] = Math.min(255, Math.hypot(across, down));
      }
    }
  }
  return { shape: images.shape, data: to };
}
`,
  },
  {
    title: "Noise",
    text: `// Sprinkles noise over each image.
function noise(images) {
  const data = images.data.map((v) => (Math.random() < 0.1 ? 255 * Math.random() : v));
  return { shape: images.shape, data };
}
`,
  },
  {
    title: "One that throws",
    text: `// Fails: training goes on with the function before it.
function fails(images) {
  throw new Error(\`I do not like these \${images.shape[0]} images\`);
}
`,
  },
];
