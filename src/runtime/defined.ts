/** Fields that may be undefined, as fields that may be absent. */

/** The same object without them. */
type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** A copy without the fields that are undefined. */
export function defined<T extends object>(given: T): Defined<T> {
  const fields = Object.entries(given).filter(([, value]) => value !== undefined)
  // What was filtered is what the type says is absent.
  return Object.fromEntries(fields) as Defined<T>
}
