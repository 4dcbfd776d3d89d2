/** What the comments of a type say of its members, for a table: an editor shows the whole. */
import { readProjectFile } from './markdown.ts'

/** The commented members of an interface, a class or an object; which section of the contract they follow is for the code. */
export function membersOf(path: string, name: string): string[][] {
  const source = readProjectFile(path)
  const from = source.search(new RegExp(`^(?:export )?(?:interface|class|const) ${name}\\b`, 'm'))
  const body = source.slice(from, source.indexOf('\n}', from))
  const members = body.matchAll(/^ {2}\/\*\*([\s\S]*?)\*\/\n {2}(?:declare )?(?:readonly )?(\w+)/gm)
  return [...members].map(([, comment = '', member = '']) => [
    `\`${member}\``,
    comment
      .replaceAll(/\s*\n\s*\*\s*/g, ' ')
      .replace(/ Contract, service\.md[^.]*\.md[^.]*\.| Contract, service\.md[^.]*\./, '')
      .trim(),
  ])
}

const SUMMARY = /^(.+?\.)(?= [A-Z`*]|$)/
const DEFAULT = /(?:^| )(Default: .+?\.)(?= [A-Z`]|$)/

/** The first sentence of each comment, and its default. */
export function summariesOf(path: string, name: string): string[][] {
  return membersOf(path, name).map(([member = '', comment = '']) => {
    const [, first = ''] = SUMMARY.exec(comment) ?? []
    const [, fallback = ''] = DEFAULT.exec(comment) ?? []
    return [member, [...new Set([first, fallback])].join(' ').trim()]
  })
}
