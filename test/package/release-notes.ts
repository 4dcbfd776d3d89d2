/** Prints the changelog section of the version in package.json, for its release page. */
import { readProjectFile } from '../../docs/markdown.ts'
import { partOf } from './changelog.ts'

const { version } = JSON.parse(readProjectFile('package.json')) as { version: string }
console.log(partOf(readProjectFile('CHANGELOG.md'), version))
