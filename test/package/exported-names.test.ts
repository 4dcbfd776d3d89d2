/** The names that users import from the main entry points stay few. */
import ts from 'typescript'
import { expect, test } from 'vitest'
import { readProjectFile } from '../../docs/markdown.ts'

/** Only lists such as `export { a, type B } from './c.ts'` export something here. */
function namesIn(path: string): readonly string[] {
  const { statements } = ts.createSourceFile(path, readProjectFile(path), ts.ScriptTarget.Latest)
  return statements.flatMap((statement) => {
    if (ts.isImportDeclaration(statement)) return []
    if (!ts.isExportDeclaration(statement) || statement.exportClause === undefined)
      throw new Error(`${path} exports other than by a list of names.`)
    if (!ts.isNamedExports(statement.exportClause)) return [statement.exportClause.name.text]
    return statement.exportClause.elements.map(({ name }) => name.text)
  })
}

test.each([
  { entry: '.', path: 'src/index.ts', one: 'createReceiver', most: 75 },
  { entry: './store', path: 'src/store.ts', one: 'openRecordStore', most: 25 },
])('$entry exports at most $most names', ({ path, one, most }) => {
  const names = namesIn(path)
  expect(names).toContain(one)
  expect(names.length).toBeLessThanOrEqual(most)
})
