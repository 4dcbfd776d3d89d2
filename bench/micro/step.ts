/** One step of the pipeline, measured alone, so that a regression has an address. */
export interface Step {
  readonly what: string
  /** Returns what is measured. Throws where its result is wrong: nobody needs the speed of a failure. */
  readonly prepare: () => () => unknown
}
