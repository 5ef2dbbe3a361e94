/** The programs to choose from: files of lessons/, in the order in which they teach. */

/** A lesson. */
export interface Lesson {
  /** Its file in lessons/, without an ending. */
  readonly name: string;
  /** Its title in the list. */
  readonly title: string;
}

/** All of them. */
export const LESSONS: readonly Lesson[] = [
  { name: "tensors", title: "1 Tensors" },
  { name: "ops", title: "2 Ops" },
  { name: "shapes", title: "3 Shapes" },
  { name: "memory", title: "4 Memory" },
  { name: "gradients", title: "5 Gradients" },
  { name: "custom_gradients", title: "6 Gradients of your own" },
  { name: "functions", title: "7 tf.function" },
  { name: "control_flow", title: "8 Branches and loops" },
  { name: "graphs", title: "9 Graphs and sessions" },
  { name: "numpy_function", title: "10 A function of the host in a graph" },
  { name: "vjp", title: "11 … with a gradient" },
  { name: "py_function", title: "12 … of tensors, that branches" },
  { name: "async_scripts", title: "13 … that waits" },
  { name: "scripts_in_loops", title: "14 … in a loop" },
  { name: "devices", title: "15 Devices" },
  { name: "data", title: "16 Data" },
  { name: "images", title: "17 Images" },
  { name: "training", title: "18 A training loop" },
  { name: "own_ops", title: "19 An op of your own" },
  { name: "wgsl", title: "20 A kernel of your own, in WGSL" },
];

/** The text of a lesson. */
export async function lessonText(name: string): Promise<string> {
  const response = await fetch(new URL(`./lessons/${name}.js`, import.meta.url));
  if (!response.ok) throw new Error(`Cannot load the lesson "${name}": ${response.status}`);
  return await response.text();
}
