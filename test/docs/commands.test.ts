/** Every command of the package on the pages, in sentences too, exists with its flags. `every-command.full.test.ts` runs those in blocks. */
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { PAGES, readPage, readProjectFile } from '../../docs/markdown.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { createTerminal } from '../../src/cli/terminal.ts'

const program = new Command('messaging-webhooks')
const terminal = createTerminal()
for (const [name, { load }] of Object.entries(COMMANDS)) (await load()).define(program.command(name), terminal)

/** What follows `npx messaging-webhooks`, in blocks and in sentences, which may break the line. */
function commandsOf(text: string): string[] {
  return [...text.matchAll(/npx\s+messaging-webhooks ([^`\n]+)/g)].map(
    ([, rest = '']) => rest.split(/ [#|&]| < /)[0] ?? '',
  )
}

test.each(
  PAGES.map((page) => ({ page, found: commandsOf(readProjectFile(page)) })).filter(({ found }) => found.length > 0),
)('$page: each command and flag exists', ({ found }) => {
  for (const line of found) {
    const words = line.trim().split(/\s+/)
    let command = program
    for (const word of words) {
      const inner = command.commands.find((each) => each.name() === word)
      if (inner === undefined) break
      command = inner
    }
    // The placeholder of the reference.
    if (words[0] !== '<command>') expect(command, line).not.toBe(program)
    for (const word of words.filter((each) => each.startsWith('--')))
      expect(
        command.options.map(({ long }) => long),
        line,
      ).toContain(word)
  }
})

test('finds the commands', () => {
  expect(commandsOf('`npx\nmessaging-webhooks a b` and\nnpx messaging-webhooks c --d e # f\n')).toEqual([
    'a b',
    'c --d e',
  ])
  expect(PAGES.flatMap((page) => commandsOf(readProjectFile(page))).length).toBeGreaterThan(20)
})

test('the README installs as the guide does, whose commands are run', () => {
  const [readme, guide] = ['README.md', 'docs/guides/getting-started.md'].map((page) =>
    readPage(page)
      .blocks[0]?.code.replaceAll(/ +#.*/g, '')
      .trim()
      .split(/\n| && /),
  )
  expect(readme?.length).toBeGreaterThan(5)
  expect(readme).toEqual(guide)
})
