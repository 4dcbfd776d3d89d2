/**
 * The linter refuses what the compiler cannot: text for a driver outside the files that take only SQL, and assertions that make SQL
 * of other text. Each case names the file in which the code would be, so that the project's own configuration applies.
 */
import { ESLint } from 'eslint'
import tseslint from 'typescript-eslint'
import { expect, test } from 'vitest'
import { ROOT } from '../../docs/markdown.ts'

// Rules that need types would compile the whole project.
const eslint = new ESLint({
  cwd: ROOT,
  overrideConfig: [tseslint.configs.disableTypeChecked],
  ruleFilter: ({ ruleId }) => ['no-restricted-syntax', 'no-restricted-imports'].includes(ruleId),
})

/** The rules that the code breaks in a file. A null stands for code that does not parse, or is not linted. */
async function brokenRules(filePath: string, code: string): Promise<readonly (string | null)[]> {
  const [result] = await eslint.lintText(code, { filePath })
  return [...new Set(result?.messages.map(({ ruleId }) => ruleId) ?? [null])]
}

const POSTGRES = 'src/stores/postgres/fixture.ts'
const MYSQL = 'src/stores/mysql/fixture.ts'
const SQLITE = 'src/stores/sqlite/fixture.ts'
const SQL = "import { sql, type Sql } from '../../runtime/sql.ts'\n"

test.each([
  ['a variable', POSTGRES, "const text = `DELETE '${id}'`\nawait client.query(text)"],
  ['an object', POSTGRES, "await client.query({ text: `DELETE '${id}'` })"],
  ['an object for MySQL', MYSQL, "await client.execute({ sql: `DELETE '${id}'` })"],
  ['a joined list', POSTGRES, "await client.query(['DELETE', id].join(' '))"],
  ['a condition', POSTGRES, "await client.query(id === '' ? 'DELETE' : `DELETE '${id}'`)"],
  ['String.raw', POSTGRES, "await client.query(String.raw`DELETE '${id}'`)"],
  ['a prepared statement of MySQL', MYSQL, 'await client.prepare(text)'],
  ['a bound method', MYSQL, 'const run = client.query.bind(client)'],
  ['SQL of the tag, past the file that takes it', POSTGRES, `${SQL}await client?.query(sql\`SELECT 1\`)`],
  ['an assertion', POSTGRES, `${SQL}export const text = \`DELETE '\${id}'\` as Sql`],
  ['an assertion by two steps', SQLITE, `${SQL}db.exec(text as unknown as Sql)`],
  ['an assertion of another form', SQLITE, `${SQL}db.exec(<Sql>text)`],
  [
    'an assertion of a statement',
    MYSQL,
    "import type { Statement } from '../sql/dialect.ts'\nawait ask({ name: 'a', text } as Statement)",
  ],
  ['an assertion of a part', POSTGRES, `${SQL}export const text = sql\`ORDER BY a \${direction as 'ASC'}\``],
  ['a type predicate', POSTGRES, `${SQL}export const isSql = (text: string): text is Sql => text !== ''`],
  ['a call of the tag', POSTGRES, `${SQL}export const text = sql(texts)`],
  ['a driver elsewhere', 'src/operations/fixture.ts', 'await client.query(text)'],
  ['a file of SQLite elsewhere', 'src/operations/fixture.ts', "const { DatabaseSync } = await import('node:sqlite')"],
  ['a type of SQLite', SQLITE, "import type { DatabaseSync } from 'node:sqlite'"],
])('the linter refuses %s', async (_, filePath, code) => {
  expect(await brokenRules(filePath, code)).toEqual(['no-restricted-syntax'])
})

test.each(["import { wholeNumber } from '../../runtime/sql.ts'", "import * as all from '../../runtime/sql.ts'"])(
  'the linter refuses a number by %s',
  async (code) => {
    expect(await brokenRules(POSTGRES, code)).toEqual(['no-restricted-imports'])
  },
)

test.each([
  [
    POSTGRES,
    `${SQL}export const text: Sql = sql\`SELECT \${(['a', 'b'] as const)[0]}\`\nawait sendQuery(client, { text })`,
  ],
  [SQLITE, `${SQL}db.prepare(sql\`SELECT 1\`)`],
  ['src/stores/postgres/query.ts', 'await client.query(query)'],
  ['src/stores/postgres/migrations.ts', "import { wholeNumber } from '../../runtime/sql.ts'"],
])('the linter accepts SQL in %s', async (filePath, code) => {
  expect(await brokenRules(filePath, code)).toEqual([])
})
