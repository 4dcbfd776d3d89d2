/**
 * The text of SQL. The type admits constants, names and other SQL, and nothing that is known only when the program runs: values are
 * bound to parameters.
 */

declare const IS_SQL: unique symbol
/** Text made by this module. */
export type Sql = string & { readonly [IS_SQL]: true }

/** A part whose type names its values. */
type Constant<Part> = Part extends Sql
  ? Part
  : Part extends string
    ? string extends Part
      ? never
      : Part
    : number extends Part
      ? never
      : Part

/** SQL from a template with constants and other SQL. */
export function sql<const Parts extends readonly (string | number)[]>(
  texts: TemplateStringsArray,
  ...parts: Parts & { readonly [Place in keyof Parts]: Constant<Parts[Place]> }
): Sql {
  return made(String.raw({ raw: texts }, ...parts))
}

/** SQL with a separator between its parts. */
export function joined(parts: readonly Sql[], separator = ', '): Sql {
  return made(parts.join(separator))
}

/** A name in quotes, as the engine writes them. */
export function quotedName(name: string, quote: '"' | '`'): Sql {
  return made(`${quote}${name.replaceAll(quote, quote + quote)}${quote}`)
}

/** A name of lower-case letters, digits and underscores, which needs no quotes. Throws a `TypeError` for another. */
export function plainName(name: string): Sql {
  if (!/^[a-z_][a-z0-9_]*$/.test(name)) throw new TypeError('A name in SQL has other characters than letters.')
  return made(name)
}

/** A whole number where the engine accepts no parameter. Throws a `TypeError` for another. */
export function wholeNumber(number: number): Sql {
  if (!Number.isSafeInteger(number)) throw new TypeError('A number in SQL is not whole.')
  return made(String(number))
}

/** The only place that makes the type. */
function made(text: string): Sql {
  return text as Sql
}
