/** One step of the pipeline, measured alone, so that a regression can be located. */
export interface Step {
  readonly what: string
  /** Returns the measured work. Throws if its result is wrong: the speed of a failure is meaningless. */
  readonly prepare: () => () => unknown
}
