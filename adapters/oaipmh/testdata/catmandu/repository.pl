#!/usr/bin/perl
# An OAI-PMH repository with the provider of Catmandu, as LibreCat runs it: Debian's
# libdancer-plugin-catmandu-oai-perl. The provider is unmodified. Its search engine is replaced
# by a file with a record in each line, as JSON, which is read at each request.
#
#     perl repository.pl PORT FILE

package Catmandu::Store::Lines;
use Catmandu::Sane;
use Moo;
with 'Catmandu::Store';
has file => (is => 'ro', required => 1);

package Catmandu::Store::Lines::Bag;
use Catmandu::Sane;
use Catmandu::Hits;
use JSON::PP ();
use Moo;
with 'Catmandu::Bag', 'Catmandu::CQLSearchable';

sub records {
    my ($self) = @_;
    open my $in, '<', $self->store->file or die "$!";
    my @records = map {JSON::PP::decode_json($_)} <$in>;
    return \@records;
}

# The provider combines these conditions.
sub search {
    my ($self, %args) = @_;
    my $q = $args{query};
    my @found = @{$self->records};
    @found = grep {$_->{_id} eq $1} @found        if $q =~ /_id exact "([^"]*)"/;
    @found = grep {$_->{set} eq $1} @found        if $q =~ /set exact "([^"]*)"/;
    @found = grep {$_->{datestamp} ge $1} @found  if $q =~ /datestamp >= "([^"]*)"/;
    @found = grep {$_->{datestamp} le $1} @found  if $q =~ /datestamp <= "([^"]*)"/;
    @found = sort {$a->{datestamp} cmp $b->{datestamp}} @found if $args{sort};
    my $total = @found;
    @found = splice @found, $args{start}, $args{limit};
    return Catmandu::Hits->new(start => $args{start}, limit => $args{limit}, total => $total, hits => \@found);
}

sub translate_sru_sortkeys {$_[1]}
sub translate_cql_query    {$_[1]}
sub searcher               {...}
sub delete_by_query        {...}
sub generator {
    my $records = $_[0]->records;
    return sub {shift @$records};
}
sub get        {my ($self, $id) = @_; return (grep {$_->{_id} eq $id} @{$self->records})[0]}
sub add        {...}
sub delete     {...}
sub delete_all {...}

package main;
use Catmandu::Sane;
use Dancer;
use Catmandu;

BEGIN {
    $INC{'Catmandu/Store/Lines.pm'} = $INC{'Catmandu/Store/Lines/Bag.pm'} = __FILE__;
    Catmandu->config->{store}{default} = {package => 'Lines', options => {file => $ARGV[1]}};
}
use Dancer::Plugin::Catmandu::OAI;

set port         => $ARGV[0];
set server       => '127.0.0.1';
set logger       => 'null';
set startup_info => 0;
set access_log   => 0;

oai_provider '/oai', (
    store                => 'default',
    bag                  => 'data',
    datestamp_field      => 'datestamp',
    repositoryName       => 'Catmandu',
    repositoryIdentifier => 'catmandu.example',
    deletedRecord        => 'persistent',
    delimiter            => ':',
    sampleIdentifier     => 'oai:catmandu.example:1',
    limit                => 20,
    sets                 => [{setSpec => 'physics', setName => 'Physics', cql => 'set exact "physics"'}],
    metadata_formats     => [{
        metadataPrefix    => 'oai_dc',
        schema            => 'http://www.openarchives.org/OAI/2.0/oai_dc.xsd',
        metadataNamespace => 'http://www.openarchives.org/OAI/2.0/oai_dc/',
        template          => \<<'TT',
<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>[% title | xml %]</dc:title>
<dc:identifier>[% _id %]</dc:identifier>
<dc:identifier>[% uri | xml %]</dc:identifier>
</oai_dc:dc>
TT
    }],
    deleted       => sub {$_[0]->{deleted}},
    set_specs_for => sub {[$_[0]->{set}]},
);

dance;
