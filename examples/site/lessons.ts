/** The programs to choose from: files of lessons/, in the order in which they teach. */

/** A lesson. */
export interface Lesson {
  /** Its file in lessons/, without an ending. */
  readonly name: string;
  /** What stands in the list. */
  readonly title: string;
}

/** All of them. */
export const LESSONS: readonly Lesson[] = [
  { name: "tensors", title: "1 Tensors" },
  { name: "ops", title: "2 Ops" },
  { name: "gradients", title: "3 Gradients" },
  { name: "functions", title: "4 tf.function" },
  { name: "numpy_function", title: "5 A function of the host in a graph" },
  { name: "py_function", title: "6 … with a gradient" },
  { name: "data", title: "7 Data" },
  { name: "training", title: "8 A training loop" },
];

/** The text of a lesson. */
export async function lessonText(name: string): Promise<string> {
  const response = await fetch(new URL(`./lessons/${name}.js`, import.meta.url));
  if (!response.ok) throw new Error(`Cannot load the lesson "${name}": ${response.status}`);
  return await response.text();
}
