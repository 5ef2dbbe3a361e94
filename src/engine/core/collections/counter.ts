/**
 * Counters: numbers that tell things of one kind apart within a process.
 */

/** A function that gives the numbers from `first` on, one a call. */
export function counter(first = 0): () => number {
  let next = first;
  return () => next++;
}

/** A function that numbers objects, from 1 on: the same number for the same object. */
export function objectNumbers(): (object: object) => number {
  const numbers = new WeakMap<object, number>(), next = counter(1);
  return (object) => {
    let n = numbers.get(object);
    if (n === undefined) numbers.set(object, n = next());
    return n;
  };
}
