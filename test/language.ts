/** `npm run check:language`: fails on phrases in comments, messages and documentation that have a plainer form. */
import { globSync, readFileSync } from 'node:fs'

const FILES = ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts', 'docs/**/*.md', '*.md']

/** Each with what to write instead. */
const PHRASES: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\bwhoever\b/, 'name the actor: the caller, the client, the worker'],
  [/\b(nobody|somebody)\b/, 'name the actor, or “no one”, “someone”'],
  [/(?<!\bthere )\b(is|are) none\b/, 'say what it is'],
  [/(?<!\bthere )\bis no\b(?! longer)/, '“is not a …”, “is invalid”'],
  [/\bfor to\b/, '“because”'],
  [/\bhears?\b/, '“receives”, “is notified”'],
  [/\bmend(s|ed|ing)?\b/, '“fix”, “repair”'],
  [/\bspoil(t|s|ed)?\b/, '“corrupt”'],
  [/\b(hand(s|ed|ing)?|handing) over\b/, '“dispatch”'],
  [/\bin (hand|its hands|our hands)\b/, '“in flight”'],
  [/\bshow(s|ed)? life\b/, '“sends a heartbeat”'],
  [/\b(set aside|buried)\b/, '“moved to the dead letters”, “reserved”'],
  [/\blook(s|ed|ing)? on\b/, '“observe”'],
  [/\bthereby\b/, 'a sentence of its own'],
  [/\bnone the\b/, 'say what does not change'],
]

/** Files with the phrase that they need. */
const ALLOWED: readonly (readonly [file: string, phrase: string])[] = []

const found = globSync(FILES, { exclude: (path) => path === 'docs/api' })
  .filter((file) => file !== 'test/language.ts')
  .flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        PHRASES.flatMap(([phrase, instead]) => {
          const [match] = new RegExp(phrase, 'i').exec(line) ?? []
          if (match === undefined || ALLOWED.some(([path, text]) => path === file && text === match)) return []
          return [`${file}:${index + 1}: “${match}”. Write ${instead}.`]
        }),
      ),
  )
for (const line of found) console.error(line)
if (found.length > 0) {
  console.error(`${found.length} phrases have a plainer form.`)
  process.exitCode = 1
}
