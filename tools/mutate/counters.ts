/**
 * The name under which the counters are found in every thread, apart so that what runs beside tests loads nothing else.
 *
 * @module
 */

/** Property of `globalThis` that holds a byte for each counter. */
export const COUNTERS = "__weftCounters";
