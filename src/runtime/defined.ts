type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** A copy without undefined fields. */
export function defined<T extends object>(given: T): Defined<T> {
  const fields = Object.entries(given).filter(([, value]) => value !== undefined)
  // The filter guarantees this type.
  return Object.fromEntries(fields) as Defined<T>
}
