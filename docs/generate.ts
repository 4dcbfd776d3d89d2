/** Writes what comes from the code: the tables, lists and glossary links of the pages, `openapi.json` and the picture of the README. `npm run docs:tables` */
import { writeFileSync } from 'node:fs'
import { format, resolveConfig } from 'prettier'
import { withGlossaryLinks } from './glossary-links.ts'
import { GENERATED_LISTS, GENERATED_TABLES } from './tables.ts'
import { PAGES, readProjectFile, ROOT } from './markdown.ts'
import { OPENAPI_FILE, openApiText } from './openapi.ts'
import { WAY_FILE, wayText } from './way.ts'
import { withLists, withTables } from './with-tables.ts'

for (const page of new Set([...GENERATED_TABLES, ...GENERATED_LISTS].map((each) => each.page))) {
  const path = `${ROOT}${page}`
  const isOnPage = (each: { readonly page: string }): boolean => each.page === page
  const text = withLists(
    withTables(readProjectFile(page), GENERATED_TABLES.filter(isOnPage)),
    GENERATED_LISTS.filter(isOnPage),
  )
  writeFileSync(path, await format(text, { ...(await resolveConfig(path)), filepath: path }))
}
for (const page of PAGES) writeFileSync(`${ROOT}${page}`, withGlossaryLinks(page, readProjectFile(page)))
writeFileSync(`${ROOT}${OPENAPI_FILE}`, await openApiText())
writeFileSync(`${ROOT}${WAY_FILE}`, wayText())
