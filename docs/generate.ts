/** Writes what comes from the code's constants, the tables of the pages and `openapi.json`, and the picture of the README: `npm run docs:tables`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { format, resolveConfig } from 'prettier'
import { GENERATED_TABLES } from './tables.ts'
import { ROOT } from './markdown.ts'
import { OPENAPI_FILE, openApiText } from './openapi.ts'
import { WAY_FILE, wayText } from './way.ts'
import { withTables } from './with-tables.ts'

for (const page of new Set(GENERATED_TABLES.map((table) => table.page))) {
  const path = `${ROOT}${page}`
  const text = withTables(
    readFileSync(path, 'utf8'),
    GENERATED_TABLES.filter((table) => table.page === page),
  )
  writeFileSync(path, await format(text, { ...(await resolveConfig(path)), filepath: path }))
}
writeFileSync(`${ROOT}${OPENAPI_FILE}`, await openApiText())
writeFileSync(`${ROOT}${WAY_FILE}`, wayText())
