/** The guide lists every example, with the command that runs it. */
import { existsSync, globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readPage, readProjectFile, ROOT, tableOf } from '../../docs/markdown.ts'

/** Files that other examples start: the parts of an example are in a folder of its name. */
const EXAMPLES = [...globSync('examples/*.ts', { cwd: ROOT }), ...globSync('examples/*/start.ts', { cwd: ROOT })]
const COMMANDS = tableOf(readPage('docs/guides/getting-started.md'), 'examples', ['Command', 'What it shows']).map(
  ([command = '']) => command.replaceAll('`', ''),
)

test('lists exactly the existing examples', () => {
  const { scripts } = JSON.parse(readProjectFile('package.json')) as { scripts: Readonly<Record<string, string>> }
  const [, started = ''] = /node (examples\/\S+)$/.exec(scripts['start'] ?? '') ?? []
  const named = COMMANDS.map((command) => (command === 'npm start' ? started : command.split(' ')[2]))
  expect(named.toSorted()).toEqual(EXAMPLES.toSorted())
  for (const path of named) expect(existsSync(`${ROOT}${path ?? ''}`)).toBe(true)
})

test('with the Node.js that is installed with the packages, not the machine’s own', () => {
  for (const command of COMMANDS) expect(command).toMatch(/^(npm start$|npx node examples\/)/)
})

test('the first lines name the format’s owner', () => {
  const [head = ''] = readProjectFile('README.md').split('```')
  for (const word of ['authKey', 'X-Service-Signature: t=', ',v1=']) expect(head).toContain(word)
})
