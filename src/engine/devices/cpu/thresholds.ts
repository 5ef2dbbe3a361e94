/**
 * Constants that choose between kernels of this device. `deno task calibrate --write` measures those that it has a
 * question for and notes beside them the time, the machine, and the compared kernels; the others were set by hand.
 */

/** The constants by name. Kernels read them when they are prepared. */
export const THRESHOLDS = {
  /** Most multiplications of the kernel for small products. */
  smallProduct: 16384,
  /** Most elements of B for it with few rows, where B is transposed first. */
  smallTurned: 256,
  /** Most elements of B for it with few rows, where B is read in place. */
  smallRead: 1024,
  /** Most rows for which reading B in order is faster than packing it. */
  thinRows: 3,
  /** Most rows of x whose products with rows of levels are dots of integers. */
  levelsRows: 12,
  /** Most multiplications of a product that is one block, without threads. */
  sharedProduct: 1048576,
  /** Most rows for which a small B is used in place. */
  directRows: 18,
  /** Most bytes of a small B. */
  directBytes: 524288,
  /** Least bytes of a packed B that stays levels where it is made of levels. */
  levelsBytes: 524288,
  /** Least rows of A for which a smaller one does. */
  levelsManyRows: 128,
  /** Most bytes of a B that any number of rows use in place. */
  nearBytes: 16384,
  /** Most bytes of a filter that is read whole for every few places. */
  convNearBytes: 16384,
  /** Most places for which larger filters are. */
  convFewPlaces: 18,
  /** Most bytes of such a filter. */
  convFarBytes: 524288,
  /** Most columns of a filter that is read so for any number of places. */
  convFewColumns: 16,
  /** Most rows of a product that reads B in order, however few its columns. */
  convFewRows: 4,
  /** Most places for which a filter of any size is read once. */
  convOncePlaces: 6,
  /** Least columns for which so few places run along them. */
  convThinColumns: 16,
  /** Most columns of a filter that is cut into those for tiles and a rest for sums by lanes. */
  convCutColumns: 32,
  /** Least places for which a filter is worth packing. */
  convPackedPlaces: 64,
  /** Least places for each output for which a filter is worth transposing for sums by lanes. */
  convDotsPlaces: 6,
  /** Most rows whose columns are reduced with all accumulators in registers, whatever their number. */
  heldRows: 8,
  /** Most elements for which they are, whatever the rows. */
  heldElements: 4096,
  /** Longest rows that are ranked for their largest elements. */
  rankedRow: 16,
  /** Longest rows that are ranked where much of a row is wanted. */
  rankedLongRow: 128,
  /** Least length of rows that are sorted by counting bytes where they are wanted whole. */
  sortedRow: 100,
};
