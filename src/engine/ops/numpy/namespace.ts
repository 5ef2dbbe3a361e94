/** The namespace `tf.experimental.numpy`: functions of NumPy that stand nowhere else in `tf`, under NumPy's names. */
export {
  diff,
  interp,
  type InterpOptions,
  trapezoid,
  type TrapezoidOptions,
} from "./differences.ts";
export {
  average,
  type AverageOptions,
  deg2rad,
  exp2,
  fmax,
  fmin,
  heaviside,
  hypot,
  isin,
  log10,
  log2,
  ptp,
  rad2deg,
  sinc,
} from "./elements.ts";
export {
  ediff1d,
  type Ediff1dOptions,
  gradient,
  type GradientOptions,
  type Spacing,
  unwrap,
  type UnwrapOptions,
} from "./gradient.ts";
export {
  type Bins,
  digitize,
  histogram,
  histogram2d,
  type Histogram2dOptions,
  type HistogramOptions,
} from "./histograms.ts";
export {
  moveaxis,
  rot90,
  swapaxes,
  takeAlongAxis,
  tril,
  triu,
  vander,
  type VanderOptions,
} from "./moves.ts";
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
  nanargmax,
  nanargmin,
  nancumprod,
  nancumsum,
  nanmedian,
  nanpercentile,
  nanquantile,
} from "./nan_order.ts";
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
export {
  append,
  arraySplit,
  atleast1d,
  atleast2d,
  atleast3d,
  columnStack,
  dsplit,
  dstack,
  fliplr,
  flipud,
  hsplit,
  hstack,
  vsplit,
  vstack,
} from "./joins.ts";
export {
  arrayEqual,
  divmod,
  lexsort,
  piecewise,
  ravelMultiIndex,
  select,
  unravelIndex,
} from "./places.ts";
export { polyder, polyfit, type PolyfitOptions, polyint, roots } from "./polynomials.ts";
export {
  cbrt,
  copysign,
  fix,
  floatPower,
  isneginf,
  isposinf,
  logaddexp2,
  signbit,
} from "./signs.ts";
export {
  diagflat,
  geomspace,
  type GeomspaceOptions,
  ix,
  logspace,
  type LogspaceOptions,
  tri,
} from "./spaces.ts";
