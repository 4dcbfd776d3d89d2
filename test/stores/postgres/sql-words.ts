/** The words of SQL that the store may send by its page, that its sources contain, and that a statement contains. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const PAGE = join(ROOT, 'docs', 'reference', 'sql.md')
const SECTION = /^## Statements$(.*?)^## /ms

/** Comments, values and quoted names. */
const NO_WORDS = /--[^\n]*|\bE'(?:[^'\\]|\\.)*'|'(?:[^']|'')*'|"(?:[^"]|"")*"/gs
/** Keywords, functions, types, settings, parameters of tables, and catalogs. */
const KINDS = [
  /(?<![\w.])[A-Z]{2,}\b/g,
  /(?<![\w.])[a-z]\w*(?=\()/g,
  /\b(?:bigint|integer|smallint|numeric|bytea|text|varchar|boolean|timestamptz|timestamp|jsonb?|uuid)\b/g,
  /(?<=\bSET LOCAL )\w+/g,
  /\b(?:fillfactor|autovacuum_\w+)\b/g,
  /\bpg_catalog\.\w+/g,
] as const

/** The words that statements need, without names of tables and columns, and values. */
export function wordsOf(statements: string): readonly string[] {
  const bare = statements.replaceAll(NO_WORDS, ' ')
  return [...new Set(KINDS.flatMap((kind) => bare.match(kind) ?? []))]
}

/** Clauses and conditions of every SQL, which the page does not list. */
const OF_EVERY_SQL =
  'INTO VALUES FROM WHERE AS ON JOIN LEFT UNION GROUP HAVING ORDER BY ASC DESC LIMIT AND OR NOT IS NULL TRUE IN EXISTS BETWEEN CASE WHEN THEN ELSE END'

/** Those, and everything that the table of the page lists. */
export function wordsOfPage(): ReadonlySet<string> {
  const section = SECTION.exec(readFileSync(PAGE, 'utf8'))?.[1] ?? ''
  const [, , ...rows] = /(?:^\|.*\n)+/m.exec(section)?.[0].trimEnd().split('\n') ?? []
  const listed = rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code))
  return new Set([OF_EVERY_SQL, ...listed].flatMap((words) => words.split(' ')))
}

/** The words of every text in the sources of the store and what it shares, with the file of each. */
export function wordsOfSources(): Map<string, string> {
  const words = new Map<string, string>()
  for (const path of globSync('src/stores/{postgres,sql}/*.ts', { cwd: ROOT })) {
    const file = ts.createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ts.ScriptTarget.Latest, true)
    for (const text of textsIn(file)) for (const word of wordsOf(text)) words.set(word, path)
  }
  return words
}

/** Texts and templates, without those of errors. */
function textsIn(node: ts.Node): readonly string[] {
  if (ts.isNewExpression(node) && node.expression.getText().endsWith('Error')) return []
  if (ts.isStringLiteralLike(node)) return [node.text]
  const own = ts.isTemplateExpression(node)
    ? [[node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join(' 0 ')]
    : []
  const inner: string[] = []
  ts.forEachChild(node, (child) => void inner.push(...textsIn(child)))
  return [...own, ...inner]
}
