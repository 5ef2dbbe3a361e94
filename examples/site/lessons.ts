/** The programs to choose from: files of lessons/. Functions of the host in graphs come first, as others have none; then all else in the order in which it teaches. */

/** A lesson. */
export interface Lesson {
  /** Its file in lessons/, without an ending. */
  readonly name: string;
  /** Its title in the list. */
  readonly title: string;
}

/** All of them. */
export const LESSONS: readonly Lesson[] = [
  { name: "numpy_function", title: "1 A function of the host in a graph" },
  { name: "vjp", title: "2 … with a gradient" },
  { name: "py_function", title: "3 … of tensors, that branches" },
  { name: "async_scripts", title: "4 … that waits" },
  { name: "scripts_in_loops", title: "5 … in a loop" },
  { name: "tensors", title: "6 Tensors" },
  { name: "ops", title: "7 Ops" },
  { name: "shapes", title: "8 Shapes" },
  { name: "memory", title: "9 Memory" },
  { name: "gradients", title: "10 Gradients" },
  { name: "custom_gradients", title: "11 Gradients of your own" },
  { name: "functions", title: "12 tf.function" },
  { name: "control_flow", title: "13 Branches and loops" },
  { name: "graphs", title: "14 Graphs and sessions" },
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
