/** Constants of approximations. */

/** Scale of SELU times its slope. */
export const SELU_SCALEALPHA = 1.7580993408473768376;
/** Scale of SELU. */
export const SELU_SCALE = 1.0507009873554804934;
/** Coefficient p of Abramowitz and Stegun 7.1.26. */
export const ERF_P = 0.3275911;
/** Coefficient a₁ of Abramowitz and Stegun 7.1.26. */
export const ERF_A1 = 0.254829592;
/** Coefficient a₂ of Abramowitz and Stegun 7.1.26. */
export const ERF_A2: number = -0.284496736;
/** Coefficient a₃ of Abramowitz and Stegun 7.1.26. */
export const ERF_A3 = 1.421413741;
/** Coefficient a₄ of Abramowitz and Stegun 7.1.26. */
export const ERF_A4: number = -1.453152027;
/** Coefficient a₅ of Abramowitz and Stegun 7.1.26. */
export const ERF_A5 = 1.061405429;
