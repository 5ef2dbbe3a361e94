/**
 * Constants that choose between kernels of this device. `deno task calibrate --write` measures those that it has a question for and
 * says beside them when, on which machine, and what was compared; the others were set by hand.
 */

/** The constants by name. Kernels read them when they are prepared. */
export const THRESHOLDS = {
  /** Multiplications up to which the kernel for small products is the faster one. */
  smallProduct: 16384,
  /** Elements of B up to which it is for few rows, where B is turned first. */
  smallTurned: 256,
  /** Elements of B up to which it is for few rows, where B is read as it lies. */
  smallRead: 1024,
  /** Rows up to which reading B in order is faster than packing it. */
  thinRows: 3,
  /** Multiplications up to which a product is one block that is not shared among threads. */
  sharedProduct: 1048576,
  /** Rows up to which B is used as it lies where it is small. */
  directRows: 18,
  /** Bytes up to which B is small. */
  directBytes: 524288,
  /** Bytes of B up to which any number of rows use it as it lies. */
  nearBytes: 16384,
  /** Bytes up to which a filter is read whole for every few places. */
  convNearBytes: 16384,
  /** Places up to which larger filters are. */
  convFewPlaces: 18,
  /** Bytes up to which a filter may be for that. */
  convFarBytes: 524288,
  /** Columns up to which a filter is whatever the places. */
  convFewColumns: 16,
  /** Rows of a product up to which it reads B in order, however few its columns. */
  convFewRows: 4,
  /** Places up to which a filter of any size is read once. */
  convOncePlaces: 6,
  /** Columns from which so few places go along them. */
  convThinColumns: 16,
  /** Columns up to which a filter is cut into those for tiles and a rest for sums by lanes. */
  convCutColumns: 32,
  /** Places from which a filter is worth packing. */
  convPackedPlaces: 64,
  /** Places for each output from which a filter is worth turning for sums by lanes. */
  convDotsPlaces: 6,
  /** Rows up to which columns are reduced with all accumulators held, whatever their number. */
  heldRows: 8,
  /** Elements up to which they are, whatever the rows. */
  heldElements: 4096,
  /** Length up to which rows are ranked for their largest elements. */
  rankedRow: 16,
  /** Length up to which they are where much of a row is wanted. */
  rankedLongRow: 128,
  /** Length from which rows that are wanted whole are sorted by counting bytes. */
  sortedRow: 100,
};
