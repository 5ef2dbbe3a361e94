/** The pages: what their heads, the line of links above each and the cards of the first one say. */

/** A page. */
export interface SitePage {
  /** Its file, without an ending. */
  readonly name: string;
  /** Its title in links. */
  readonly title: string;
  /** A shorter one for the line of links, which has two lines on a phone. */
  readonly short?: string;
  /** Its purpose, in a sentence. */
  readonly about: string;
}

/** All of them; the first is the one to begin with. */
export const PAGES: readonly SitePage[] = [
  {
    name: "index",
    title: "Weft",
    about: "TensorFlow's graphs and script ops in the browser, on WebGPU and WebAssembly.",
  },
  {
    name: "playground",
    title: "Playground",
    about:
      "Write a program, run it, and see what it printed, its graph and its timeline; twenty lessons to begin with.",
  },
  {
    name: "train",
    title: "Train and draw",
    short: "Train",
    about:
      "Train a network on handwritten digits, change a function in the middle of it while it learns, and draw digits for it.",
  },
  {
    name: "camera",
    title: "Camera",
    about:
      "Your camera through a graph: plain loops of yours between two parts that run on the GPU, and a network that finds faces.",
  },
  {
    name: "models",
    title: "Bring your model",
    short: "Models",
    about:
      "Drop a model of ONNX, a SavedModel or a GraphModel: see its inputs, run it on a picture, texts or numbers, and the time of its ops.",
  },
  {
    name: "inside",
    title: "Inside",
    about:
      "See what becomes of a graph before it runs: what is joined into one kernel, what runs where and for how long, what is read back.",
  },
  {
    name: "speed",
    title: "How fast",
    about: "Time Weft beside TensorFlow.js and jax-js, here and now, on this machine.",
  },
  {
    name: "guides",
    title: "Guides",
    about: "Pages to read in five minutes each, by what you would like to do; their programs run.",
  },
  {
    name: "ops",
    title: "Ops",
    about:
      "Each op: its dtypes, devices and gradient, and its name in TensorFlow, TensorFlow.js and ONNX.",
  },
  {
    name: "reference",
    title: "Reference",
    about: "Every function, class and type with its declaration, an example and its source.",
  },
];
