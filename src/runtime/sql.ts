/**
 * The text of SQL. The type admits constants, names and other SQL, and nothing that is known only when the program runs: values are
 * bound to parameters.
 */

declare const IS_SQL: unique symbol
/** Text made by this module. */
export type Sql = string & { readonly [IS_SQL]: true }

/** A part whose type names each of its values. A record needs no property for a type that does not, such as `string` or a pattern. */
type Constant<Part extends string | number> = Part extends Sql ? Part : {} extends Record<Part, true> ? never : Part

/** SQL from a template with constants and other SQL. */
export function sql<const Parts extends readonly (string | number)[]>(
  texts: TemplateStringsArray,
  ...parts: Parts & { readonly [Place in keyof Parts]: Constant<Parts[Place]> }
): Sql {
  return made(String.raw({ raw: texts }, ...parts))
}

/** SQL with a separator between its parts. */
export function joined(parts: readonly Sql[], separator: '' | ', ' | ';\n' = ', '): Sql {
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

/**
 * A whole number where the engine accepts no parameter: in a PRAGMA, and in the migrations, which are also printed. The linter
 * refuses it elsewhere. Throws a `TypeError` for another number.
 */
export function wholeNumber(number: number): Sql {
  if (!Number.isSafeInteger(number)) throw new TypeError('A number in SQL is not whole.')
  return made(String(number))
}

const PARAMETER = /\$(\d+)/g

/** A statement with a question mark for each use of a parameter, and the numbers of these parameters in their order. */
export function positional(statement: Sql): { readonly text: Sql; readonly numbers: readonly number[] } {
  return {
    text: made(statement.replaceAll(PARAMETER, '?')),
    numbers: Array.from(statement.matchAll(PARAMETER), ([, number]) => Number(number)),
  }
}

/** The only place that makes the type. */
function made(text: string): Sql {
  return text as Sql
}
