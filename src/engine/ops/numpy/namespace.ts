/** The namespace `tf.experimental.numpy`: functions of NumPy that stand nowhere else in `tf`, under NumPy's names. */
export {
  diff,
  interp,
  type InterpOptions,
  trapezoid,
  type TrapezoidOptions,
} from "./differences.ts";
export {
  allclose,
  type CloseOptions,
  isclose,
  nanmax,
  nanmean,
  nanmin,
  nanprod,
  nanstd,
  nansum,
  nanToNum,
  type NanToNumOptions,
  nanvar,
} from "./nan.ts";
export {
  convolve,
  type ConvolveMode,
  correlate,
  inner,
  kron,
  logaddexp,
  outer,
  vdot,
} from "./products.ts";
export {
  corrcoef,
  cov,
  type CovOptions,
  median,
  percentile,
  quantile,
  type QuantileMethod,
  type QuantileOptions,
} from "./statistics.ts";
