/** Metrics that accumulate on the device. The public name is `tf.metrics`. */
export * from "./counts.ts";
export * from "./means.ts";
export {
  LabelMetric,
  Metric,
  type MetricRule,
  type MetricState,
  type UpdateOptions,
  ValueMetric,
} from "./metric.ts";
