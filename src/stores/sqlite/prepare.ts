/** Prepared statements with parameters by name, bound by place: bound by name an insert of ours takes three times as long. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { Row } from './row.ts'

type Parameters = Readonly<Record<string, SQLInputValue>>

interface Statement {
  get(parameters?: Parameters): Row | undefined
  all(parameters?: Parameters): readonly Row[]
  run(parameters?: Parameters): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint }
}

const NONE: Parameters = {}

/** The names are `:name`, and nothing else in the text looks like one. */
export function prepare(db: DatabaseSync, sql: string): Statement {
  const names: string[] = []
  // No `?1`: Node 22.13 takes it for a name. A name that comes twice is bound twice.
  const nameless = sql.replaceAll(/:(\w+)/g, (_, name: string) => {
    names.push(name)
    return '?'
  })
  const statement = db.prepare(nameless)

  function valuesOf(parameters: Parameters): readonly SQLInputValue[] {
    return names.map((name) => {
      const value = parameters[name]
      if (value === undefined) throw new Error(`A statement was given no ${name}.`)
      return value
    })
  }

  return {
    get: (parameters = NONE) => statement.get(...valuesOf(parameters)),
    all: (parameters = NONE) => statement.all(...valuesOf(parameters)),
    run: (parameters = NONE) => statement.run(...valuesOf(parameters)),
  }
}
